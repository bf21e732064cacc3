# Makes an SVG of a terminal's text:
#
#   tmux capture-pane -p | awk -f docs/picture.awk > docs/starter.svg
function escape(s) {
  gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s)
  return s
}
function look(s) {
  if (s ~ /^\$ /) return " class=\"typed\""
  if (s ~ /^> /) return " class=\"typed\""
  if (s ~ /^==/ || s ~ /^  \? /) return " class=\"bold\""
  if (s ~ /^ +(\| )?> /) return " class=\"dim\""
  return ""
}
{ line[++n] = $0 }
END {
  while (n > 0 && line[n] == "") n--
  height = n * 17 + 24
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"%d\" viewBox=\"0 0 720 %d\" role=\"img\" aria-label=\"flower at a terminal\">\n", height, height
  print "<style>text{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d0d7de;white-space:pre}.bold{font-weight:bold;fill:#fff}.dim{fill:#848d97}.typed{fill:#7ee787}</style>"
  print "<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#0d1117\"/>"
  for (i = 1; i <= n; i++)
    printf "<text x=\"14\" y=\"%d\" xml:space=\"preserve\"%s>%s</text>\n", 12 + i * 17, look(line[i]), escape(line[i])
  print "</svg>"
}
