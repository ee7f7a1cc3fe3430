// Sorting and filtering of the table of cases. The page says all without it.
(function () {
  var table = document.getElementById('cases'), form = document.getElementById('filter');
  if (!table || !form) return;
  var body = table.tBodies[0], rows = Array.prototype.slice.call(body.rows), shown = document.getElementById('shown');
  function filter() {
    var words = form.words.value.toLowerCase().split(/\s+/), count = 0;
    rows.forEach(function (row) {
      var text = row.textContent.toLowerCase();
      var hit = words.every(function (w) { return text.indexOf(w) >= 0; });
      ['device', 'type', 'mark'].forEach(function (key) {
        var wanted = form[key] && form[key].value;
        if (wanted && key === "mark" && (" " + row.dataset.mark + " ").indexOf(" " + wanted + " ") < 0) hit = false;
        if (wanted && key !== 'mark' && row.dataset[key] !== wanted) hit = false;
      });
      row.hidden = !hit;
      count += hit;
    });
    shown.textContent = count + ' of ' + rows.length + ' shown';
  }
  function value(row, column) {
    var cell = row.cells[column], number = cell.dataset.v;
    return number === undefined ? cell.textContent : number === '' ? -Infinity : +number;
  }
  function sort(column, down) {
    rows.sort(function (a, b) {
      var x = value(a, column), y = value(b, column), order = x < y ? -1 : x > y ? 1 : 0;
      return down ? -order : order;
    });
    rows.forEach(function (row) { body.appendChild(row); });
  }
  Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, column) {
    var button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    head.textContent = '';
    head.appendChild(button);
    button.addEventListener('click', function () {
      var down = head.getAttribute('aria-sort') !== 'descending';
      Array.prototype.forEach.call(table.tHead.rows[0].cells, function (h) { h.removeAttribute('aria-sort'); });
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      sort(column, down);
    });
  });
  form.hidden = false;
  form.addEventListener('input', filter);
  form.addEventListener('submit', function (event) { event.preventDefault(); });
  filter();
})();
