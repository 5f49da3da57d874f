/** Above it the two middles are shown one after the other: a table of all pairs would be too large. */
const MAX_PAIRS = 4_000_000;
const CONTEXT = 3;

interface Line {
  readonly sign: " " | "-" | "+";
  readonly text: string;
}

/**
 * The difference of two texts by lines, each with ` `, `-` or `+` before it and three unchanged lines
 * around each change; `…` stands for what is left out. Empty for equal texts.
 */
export function lineDiff(before: string, after: string): string {
  if (before === after) return "";
  const a = before.split("\n");
  const b = after.split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (
    end < a.length - start &&
    end < b.length - start &&
    a[a.length - 1 - end] === b[b.length - 1 - end]
  ) {
    end += 1;
  }
  const lines = [
    ...a.slice(0, start).map((text) => line(" ", text)),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map((text) => line(" ", text)),
  ];
  return withContext(lines);
}

function middle(a: readonly string[], b: readonly string[]): Line[] {
  const removed = a.map((text) => line("-", text));
  const added = b.map((text) => line("+", text));
  if (a.length * b.length === 0 || a.length * b.length > MAX_PAIRS) return [...removed, ...added];
  return byLongestCommon(a, b);
}

/** The classic table of longest common subsequences, from the end. */
function byLongestCommon(a: readonly string[], b: readonly string[]): Line[] {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]];
    if (left !== undefined && left === right) {
      lines.push(line(" ", left));
      i += 1;
      j += 1;
    } else if (left !== undefined && (right === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(line("-", left));
      i += 1;
    } else {
      lines.push(line("+", right ?? ""));
      j += 1;
    }
  }
  return lines;
}

function withContext(lines: readonly Line[]): string {
  const isShown = new Uint8Array(lines.length);
  for (const [index, { sign }] of lines.entries()) {
    if (sign === " ") continue;
    isShown.fill(1, Math.max(0, index - CONTEXT), Math.min(lines.length, index + CONTEXT + 1));
  }
  const shown: string[] = [];
  let isGap = false;
  for (const [index, { sign, text }] of lines.entries()) {
    if (isShown[index] === 1) {
      shown.push(`${sign}${text}`);
      isGap = false;
    } else if (!isGap) {
      shown.push("…");
      isGap = true;
    }
  }
  return shown.join("\n");
}

function line(sign: Line["sign"], text: string): Line {
  return { sign, text };
}
