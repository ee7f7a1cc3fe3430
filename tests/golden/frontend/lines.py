# comments, continuation lines, several statements on a line
x = 1; y = 2;
if x: y = 3; z = 4
total = (1 +  # inside brackets lines do not end
         2)
total = 1 + \
    2
if x:

    # a comment at any depth
        # is no block
    y = 5

def f(): return \
    x
