"""logging: records of a level go to one stream, as basicConfig() says; to stderr, from warnings on, if it says nothing."""
import sys
import time

DEBUG, INFO, WARNING, ERROR, CRITICAL = 10, 20, 30, 40, 50
WARN, FATAL, NOTSET = WARNING, CRITICAL, 0
_names = {10: 'DEBUG', 20: 'INFO', 30: 'WARNING', 40: 'ERROR', 50: 'CRITICAL'}
_levels = {name: level for level, name in _names.items()}
_loggers = {}


def getLevelName(level):
    return _names.get(level, f'Level {level}')


class Formatter:
    def __init__(self, fmt=None, datefmt=None, style='%'):
        self.fmt = fmt or '%(message)s'

    def format(self, values):
        return self.fmt % values


class Handler:
    level, formatter = NOTSET, None

    def setFormatter(self, formatter):
        self.formatter = formatter

    def setLevel(self, level):
        self.level = _levels.get(level, level)

    def emit(self, values):
        pass


NullHandler = Handler


class StreamHandler(Handler):
    def __init__(self, stream=None):
        self.stream = stream or sys.stderr

    def emit(self, values):
        print((self.formatter or Formatter()).format(values), file=self.stream)


class Logger:
    def __init__(self, name, parent=None):
        self.name, self.parent, self.level, self.handlers, self.propagate = name, parent, NOTSET, [], True

    def setLevel(self, level):
        self.level = _levels.get(level, level)

    def getEffectiveLevel(self):
        return self.level or (self.parent.getEffectiveLevel() if self.parent else WARNING)

    def isEnabledFor(self, level):
        return level >= self.getEffectiveLevel()

    def addHandler(self, handler):
        self.handlers.append(handler)

    def removeHandler(self, handler):
        self.handlers.remove(handler)

    def hasHandlers(self):
        return bool(self._all_handlers())

    def _all_handlers(self):
        above = self.parent._all_handlers() if self.parent and self.propagate else []
        return self.handlers + above

    def log(self, level, msg, *args, **options):
        if not self.isEnabledFor(level):
            return
        text = str(msg)
        if args:
            text = text % (args[0] if len(args) == 1 and isinstance(args[0], dict) else args)
        values = {'message': text, 'levelname': getLevelName(level), 'levelno': level, 'name': self.name,
                  'asctime': '', 'created': time.time(), 'filename': '', 'module': '', 'lineno': 0, 'funcName': '',
                  'process': 0, 'pathname': ''}
        handlers = self._all_handlers()
        for handler in handlers:
            if level >= handler.level:
                handler.emit(values)
        if not handlers and level >= WARNING:
            print(text, file=sys.stderr)

    def debug(self, msg, *args, **options):
        self.log(DEBUG, msg, *args)

    def info(self, msg, *args, **options):
        self.log(INFO, msg, *args)

    def warning(self, msg, *args, **options):
        self.log(WARNING, msg, *args)

    def error(self, msg, *args, **options):
        self.log(ERROR, msg, *args)

    def critical(self, msg, *args, **options):
        self.log(CRITICAL, msg, *args)
    warn, exception, fatal = warning, error, critical


class LoggerAdapter:
    def __init__(self, logger, extra=None, merge_extra=False):
        self.logger, self.extra = logger, extra

    def process(self, msg, kwargs):
        return msg, kwargs

    def log(self, level, msg, *args, **options):
        msg, options = self.process(msg, options)
        self.logger.log(level, msg, *args)

    def __getattr__(self, name):
        return getattr(self.logger, name)
    debug, info, warning = Logger.debug, Logger.info, Logger.warning
    error, critical, warn, exception = Logger.error, Logger.critical, Logger.warn, Logger.exception


class Manager:
    loggerDict = _loggers


root = Logger('root')
Logger.root, Logger.manager = root, Manager()


def getLogger(name=None):
    if not name or name == 'root':
        return root
    if name not in _loggers:
        above = name.rpartition('.')[0]
        _loggers[name] = Logger(name, getLogger(above) if above else root)
    return _loggers[name]


def basicConfig(*, level=None, format='%(levelname)s:%(name)s:%(message)s', stream=None, handlers=None, force=False,
                filename=None, filemode='a', datefmt=None, style='%', encoding=None):
    if level is not None:
        root.setLevel(level)
    if root.handlers and not force:
        return
    root.handlers = list(handlers or [StreamHandler(stream)])
    for handler in root.handlers:
        handler.formatter = handler.formatter or Formatter(format)


def _of_root(level):
    def log(msg, *args, **options):
        if not root.handlers:
            basicConfig()
        root.log(level, msg, *args)
    return log


debug, info, warning, error, critical = [_of_root(level) for level in (DEBUG, INFO, WARNING, ERROR, CRITICAL)]
warn, exception = warning, error


def disable(level=CRITICAL):
    root.setLevel(level + 1)


def captureWarnings(capture):
    pass
