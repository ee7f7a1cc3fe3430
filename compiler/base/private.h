/* private.h: could another user of this machine put something else at a path?
 *
 *   /home/me/.cache/warpsmith/store.db            NULL: nobody but this user and root
 *   /srv/all/store.db  (drwxrwxrwx /srv/all)      "'/srv/all' can be written by others ..."
 *   /tmp/store.db      (-rw-r--r-- uid 1234)      "'/tmp/store.db' belongs to another user (1234)"
 *
 * What is executed (a library, a plug-in, a compiled kernel of the store) comes from such places
 * only. Every folder on the way counts: who may rename one of them decides what lies below. */
#ifndef WS_BASE_PRIVATE_H
#define WS_BASE_PRIVATE_H

#include "base/arena.h"

/* The path with no symbolic link left, or NULL with errno set. The last component need not exist;
 * as a link that leads nowhere it stays what it is. */
const char *path_resolve(const char *path, struct arena *a);

/* NULL if only this user and root can change or replace what is at the path, which is resolved
 * first; else why not. What does not exist is as safe as the folder that it would be in; in one
 * where everybody may make files (/tmp) others may still be first: open it with O_EXCL, or look at
 * its owner afterwards. */
const char *path_exposed(const char *path, struct arena *a);

#endif
