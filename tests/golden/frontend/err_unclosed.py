y = model(x,
          scale=2
z = y + 1
