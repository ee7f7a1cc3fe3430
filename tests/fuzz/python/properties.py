class Box:
    def __init__(self, side):
        self.side = side
        self.log = []
    @property
    def area(self):
        return self.side ** 2
    @area.setter
    def area(self, v):
        self.log.append(v)
        self.side = int(v ** 0.5)
    def get_edge(self):
        return 4 * self.side
    def set_edge(self, v):
        self.side = v // 4
    edge = property(get_edge, set_edge)
    @property
    def fixed(self):
        return 1
class Cube(Box):
    @property
    def volume(self):
        return self.area * self.side
    @Box.area.setter
    def area(self, v):
        self.side = -v
    @Box.edge.getter
    def edge(self):
        return "edge"
b = Box(3)
print(b.area, b.edge)
b.area = 25
print(b.side, b.area, b.log)
b.area += 11
print(b.side, b.log)
b.edge = 40
print(b.side, b.edge)
setattr(b, "area", 49)
print(b.side, hasattr(b, "area"), getattr(b, "area"))
for name in "fixed", "area":
    try:
        setattr(b, name, 4)
        print(b.side)
    except AttributeError as e:
        print("AttributeError")
c = Cube(2)
print(c.volume, c.edge)
c.area = 5
print(c.side, c.area)
c.edge = 12
print(c.side, c.edge)
print(type(Box.area).__name__)
