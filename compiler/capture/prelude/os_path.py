"""os.path, as on Linux."""
import os
from os import environ, fspath, getcwd
from _warpsmith import path_kind

sep = '/'


def join(path, *paths):
    out = fspath(path)
    for part in paths:
        part = fspath(part)
        if part.startswith('/'):
            out = part
        else:
            out += part if not out or out.endswith('/') else '/' + part
    return out


def split(path):
    path = fspath(path)
    at = path.rfind('/') + 1
    head = path[:at]
    return head.rstrip('/') if head.strip('/') else head, path[at:]


def dirname(path):
    return split(path)[0]


def basename(path):
    return split(path)[1]


def splitext(path):
    path = fspath(path)
    start = path.rfind('/') + 1
    while path[start:start + 1] == '.':
        start += 1
    at = path.rfind('.')
    return (path[:at], path[at:]) if at > start else (path, '')


def isabs(path):
    return fspath(path).startswith('/')


def normpath(path):
    path = fspath(path)
    parts = []
    for part in path.split('/'):
        if part == '..' and (parts and parts[-1] != '..' or path.startswith('/')):
            parts = parts[:-1]
        elif part not in ('', '.'):
            parts.append(part)
    return ('/' if path.startswith('/') else '') + '/'.join(parts) or '.'


def abspath(path):
    return normpath(join(getcwd(), path))


realpath = abspath


def relpath(path, start='.'):
    parts, base = [[x for x in abspath(p).split('/') if x] for p in (path, start)]
    same = 0
    while same < min(len(parts), len(base)) and parts[same] == base[same]:
        same += 1
    return '/'.join(['..'] * (len(base) - same) + parts[same:]) or '.'


def commonprefix(paths):
    first, last = min(paths), max(paths)
    n = 0
    while n < min(len(first), len(last)) and first[n] == last[n]:
        n += 1
    return first[:n]


def expanduser(path):
    path = fspath(path)
    return environ.get('HOME', '~') + path[1:] if path == '~' or path.startswith('~/') else path


def exists(path):
    return path_kind(fspath(path)) != ''


def isfile(path):
    return path_kind(fspath(path)) == 'file'


def isdir(path):
    return path_kind(fspath(path)) == 'folder'
