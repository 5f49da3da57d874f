import { cutBytes } from "@switchyard/contracts/cut-text";

/** Cuts a text and states how much is missing, so that neither a model nor a person takes the part for the whole. */
export function cutWithNote(text: string, limitBytes: number): string {
  const cut = cutBytes(text, limitBytes);
  if (cut.length === text.length) return cut;
  const missing = Buffer.byteLength(text) - Buffer.byteLength(cut);
  return `${cut}\n[cut: ${missing} more bytes are not shown]`;
}
