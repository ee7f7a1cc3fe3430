import json

for text in ('{"a": [1, -2.5, 1e3, "x", null, true, false], "b": {"c": "\\u00e9\\n\\"q\\" /"}}', '[]', '{}', ' [ 1 , 2 ] ', '"text"', '12', '-0.5',
             'null', '{"k": {}, "l": [[], [{}]]}', '[NaN, Infinity, -Infinity]', '"ünï"'):
    value = json.loads(text)
    print(value, type(value).__name__, json.dumps(value) if 'N' not in text and 'ü' not in text and 'u00' not in text else '')
for wrong in ('', '[1,', '{"a" 1}', '{a: 1}', '[1 2]', '"open', 'tru', '1 2', '{"a": }', '[1,\n2,\n x]', '"\\q"'):
    try:
        print(json.loads(wrong))
    except json.JSONDecodeError as error:
        print(isinstance(error, ValueError), error)
data = {'name': 'net', 'sizes': [1, 2, 3], 'rate': 0.1, 'deep': {'x': None}}
print(json.loads(json.dumps(data)) == data, json.loads(json.dumps(data, indent=2)) == data)
