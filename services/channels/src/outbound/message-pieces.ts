import { cutText, graphemeStart } from "@switchyard/contracts/cut-text";

/** The separators at which a text is cut, the best first. */
const SEAMS = ["\n\n", "\n", ". ", " "];
/** The minimum fill of a piece before a worse separator is used. */
const LEAST_SHARE = 0.5;
const FENCE = /^[ \t]{0,3}(```+|~~~+)[^\n]*$/gm;

/**
 * Cuts a text into pieces of at most `limit` UTF-16 units: at the end of a paragraph, a line, a sentence or a word if one is
 * near, never inside of a user-perceived character. A fenced block of code that has to be cut is closed and opened again. An
 * empty text is one empty piece.
 */
export function messagePieces(text: string, limit: number): string[] {
  const pieces: string[] = [];
  let rest = text;
  while (rest.length > limit) {
    const at = seamOf(rest, limit);
    const piece = rest.slice(0, at).trimEnd();
    const fence = openFence(piece);
    const closing = fence === null ? "" : `\n${fence.mark}`;
    if (fence === null || piece.length + closing.length > limit) {
      pushPiece(pieces, piece);
      rest = afterSeam(rest.slice(at));
      continue;
    }
    pushPiece(pieces, piece + closing);
    const opened = `${fence.line}\n`;
    const left = rest.slice(at).replace(/^\n/, "");
    // A language line as long as a piece would be repeated for ever.
    rest = opened.length * 4 > limit ? left : opened + left;
  }
  pushPiece(pieces, rest);
  return pieces.length === 0 ? [""] : pieces;
}

function pushPiece(pieces: string[], piece: string): void {
  if (piece.trim() !== "") pieces.push(piece);
}

function seamOf(text: string, limit: number): number {
  const room = roomOf(text, limit);
  const least = Math.floor(room * LEAST_SHARE);
  for (const seam of SEAMS) {
    const found = text.lastIndexOf(seam, room - seam.length);
    if (found >= least) return found + seam.length;
  }
  return graphemeStart(text, room);
}

/** Leaves room for the end of a fence when the cut may lie inside of one. */
function roomOf(text: string, limit: number): number {
  const fence = openFence(cutText(text, limit));
  return fence === null ? limit : Math.max(2, limit - fence.mark.length - 1);
}

function afterSeam(text: string): string {
  return text.replace(/^\n+/, "");
}

/** The fence that a text leaves open, or null. */
function openFence(text: string): { readonly mark: string; readonly line: string } | null {
  let open: { mark: string; line: string } | null = null;
  for (const [line, mark = ""] of text.matchAll(FENCE)) {
    if (open === null) open = { mark, line };
    else if (mark.startsWith(open.mark) && line.trim() === mark) open = null;
  }
  return open;
}
