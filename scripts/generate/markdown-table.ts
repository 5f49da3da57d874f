export function code(text: string): string {
  return `\`${text}\``;
}

export function table(head: string[], rows: string[][]): string {
  return [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
}

function row(cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
