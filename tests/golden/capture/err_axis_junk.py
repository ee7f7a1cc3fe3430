# options: -D dim=4;import
dim = 8
