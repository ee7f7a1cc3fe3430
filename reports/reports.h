/* reports.h: what the command uses of this folder. */
#ifndef REPORTS_REPORTS_H
#define REPORTS_REPORTS_H

#include "reports/compare.h" /* compare_files */
#include "reports/figure.h"  /* figure_bench */
#include "reports/history.h" /* history_judge, history_accept */
#include "reports/import.h"  /* history_import */
#include "reports/merge.h"   /* merge_results */
#include "reports/report.h"  /* report_write */
#include "reports/results.h" /* result_append, results_read */

#endif
