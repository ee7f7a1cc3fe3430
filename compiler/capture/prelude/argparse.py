"""argparse: options and positional arguments of a command line, and what they default to."""
import sys
from _warpsmith import refuse

SUPPRESS = '==SUPPRESS=='


class HelpFormatter:
    pass


ArgumentDefaultsHelpFormatter = RawDescriptionHelpFormatter = RawTextHelpFormatter = HelpFormatter


class ArgumentTypeError(Exception):
    pass


class Namespace:
    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            setattr(self, name, value)

    def __eq__(self, other):
        return isinstance(other, Namespace) and vars(self) == vars(other)

    def __contains__(self, key):
        return key in self.__dict__

    def __repr__(self):
        return f"Namespace({', '.join([f'{name}={value!r}' for name, value in self.__dict__.items()])})"


class BooleanOptionalAction:
    pass


class _Argument:
    """One add_argument(): `flags` are what it is called on the command line, none if it is positional."""

    def __init__(self, flags, dest, action='store', nargs=None, const=None, default=None, type=None, choices=None,
                 required=False, help=None, metavar=None, version=None):
        long = [flag for flag in flags if flag.startswith('--')]
        self.flags, self.nargs, self.type, self.choices, self.required = flags, nargs, type, choices, required
        self.dest = dest or (long or flags)[0].lstrip('-').replace('-', '_')
        self.action, self.const, self.default = action, const, default
        if action is BooleanOptionalAction:
            self.action = 'boolean'
            self.flags = flags + ['--no-' + flag[2:] for flag in long]
        elif action in ('store_true', 'store_false'):
            self.const = action == 'store_true'
            self.default = not self.const if default is None else default
        elif action not in ('store', 'store_const', 'append', 'count', 'extend'):
            refuse(f'the action {action!r} of an argument is not supported')

    def convert(self, parser, text):
        name = '/'.join(self.flags) or self.dest
        try:
            value = text if self.type is None else self.type(text)
        except (ValueError, TypeError, ArgumentTypeError):
            parser.error(f"argument {name}: invalid {getattr(self.type, '__name__', 'value')} value: {text!r}")
        if self.choices is not None and value not in self.choices:
            known = ', '.join([repr(choice) for choice in self.choices])
            parser.error(f'argument {name}: invalid choice: {value!r} (choose from {known})')
        return value

    def take(self, parser, words):
        """The value of the words that come next, which it takes from the list."""
        count, found = self.nargs, []
        most = count if isinstance(count, int) else 1 if count in (None, '?') else len(words)
        while words and len(found) < most and not parser.is_flag(words[0]):
            found.append(self.convert(parser, words.pop(0)))
        if count == '?':
            return found[0] if found else self.const
        least = count if isinstance(count, int) else 0 if count == '*' else 1
        if len(found) < least:
            name = '/'.join(self.flags) or self.dest
            parser.error(f'argument {name}: expected {"one argument" if count is None else f"{least} arguments"}')
        return found[0] if count is None else found

    def apply(self, parser, space, flag, words):
        before = getattr(space, self.dest, None)
        if self.action in ('store_true', 'store_false', 'store_const'):
            value = self.const
        elif self.action == 'boolean':
            value = not flag.startswith('--no-')
        elif self.action == 'count':
            value = (before or 0) + 1
        else:
            value = self.take(parser, words)
            if self.action == 'append':
                value = (before or []) + [value]
            elif self.action == 'extend':
                value = (before or []) + value
        setattr(space, self.dest, value)


class ArgumentParser:
    def __init__(self, prog=None, usage=None, description=None, epilog=None, **options):
        self.prog, self.description, self._arguments, self._defaults = prog or 'script', description, [], {}

    def add_argument(self, *flags, dest=None, **options):
        optional = flags[0].startswith('-') if flags else False
        if not optional:
            flags, dest = (), flags[0] if flags else dest
        self._arguments.append(_Argument(list(flags), dest, **options))
        return self._arguments[-1]

    def add_argument_group(self, *args, **kwargs):
        return self
    add_mutually_exclusive_group = add_argument_group

    def set_defaults(self, **defaults):
        self._defaults.update(defaults)

    def get_default(self, dest):
        return self._start().__dict__.get(dest)

    def error(self, message):
        print(f'{self.prog}: error: {message}', file=sys.stderr)
        raise SystemExit(2)

    def is_flag(self, word):
        """-1 is a number, as long as no option looks like one."""
        return len(word) > 1 and word[0] == '-' and not word[1:].replace('.', '').replace('e-', '').isdigit()

    def _start(self):
        space = Namespace()
        for argument in self._arguments:
            default = self._defaults.get(argument.dest, argument.default)
            if isinstance(default, str) and default != SUPPRESS:
                default = argument.convert(self, default)
            if default != SUPPRESS:
                setattr(space, argument.dest, default)
        for name, value in self._defaults.items():
            setattr(space, name, value)
        return space

    def _find(self, flag):
        for argument in self._arguments:
            if flag in argument.flags:
                return argument
        near = [argument for argument in self._arguments
                if flag.startswith('--') and any([f.startswith(flag) for f in argument.flags])]
        return near[0] if len(near) == 1 else None

    def parse_known_args(self, args=None, namespace=None):
        words = list(sys.argv[1:] if args is None else args)
        space, unknown, given = self._start(), [], []
        positional = [argument for argument in self._arguments if not argument.flags]
        while words:
            if not self.is_flag(words[0]) and positional:
                argument = positional.pop(0)
                setattr(space, argument.dest, argument.take(self, words))
                continue
            word = words.pop(0)
            flag, equals, value = word.partition('=')
            argument = self._find(flag) if self.is_flag(word) else None
            if argument is None:
                unknown.append(word)
                continue
            given.append(argument)
            if equals:
                words.insert(0, value)
            argument.apply(self, space, flag, words)
        missing = ['/'.join(a.flags) for a in self._arguments if a.flags and a.required and a not in given]
        missing += [a.dest for a in positional if a.nargs not in ('?', '*')]
        if missing:
            self.error('the following arguments are required: ' + ', '.join(missing))
        return space, unknown

    def parse_args(self, args=None, namespace=None):
        space, unknown = self.parse_known_args(args)
        if unknown:
            self.error('unrecognized arguments: ' + ' '.join(unknown))
        return space
