/* base.h: everything of compiler/base in one include. Depends on nothing but libc and xxHash. */
#ifndef WS_BASE_H
#define WS_BASE_H

#include "base/arena.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/checked.h"
#include "base/device.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "base/expr.h"
#include "base/large.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/private.h"
#include "base/shown.h"
#include "base/stage.h"
#include "base/strided.h"
#include "base/tensor_map.h"
#include "base/vec.h"
#include "base/words.h"

#endif
