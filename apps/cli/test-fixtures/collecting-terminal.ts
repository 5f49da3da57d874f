import type { Terminal } from "../src/terminal.ts";

/** A terminal without colours that keeps what is written. */
export function collectingTerminal(): { terminal: Terminal; lines: string[]; notes: string[] } {
  const lines: string[] = [];
  const notes: string[] = [];
  const terminal: Terminal = {
    env: process.env,
    out: (line) => void lines.push(line),
    note: (line) => void notes.push(line),
    error: (line) => void notes.push(line),
    paintOut: (_style, text) => text,
    paintNote: (_style, text) => text,
  };
  return { terminal, lines, notes };
}
