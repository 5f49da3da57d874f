import type { ContentPart } from "@switchyard/contracts/agent-runner/content-parts";
import { getFile, putFile } from "@switchyard/contracts/agent-runner/files";
import type { RunInput } from "@switchyard/contracts/agent-runner/runs";
import type { Requester } from "../identity/requester.ts";

/** A piece of a protocol's input: a text, the bytes of a file, or the reference of a stored file. */
export type InputPiece =
  | { readonly text: string }
  | { readonly bytes: Uint8Array; readonly name: string; readonly mediaType: string | undefined }
  | { readonly ref: string };

/**
 * Stores the files of an input for the requester, one after the other, and returns the input that references them; an input
 * without files is a text. The same file always becomes the same part, so a repeated request is the same run. Rejects with a
 * ServiceError: `unsupported_file`, `files_full`, `unknown_file`, …
 */
export async function storeInput(
  requester: Requester,
  pieces: readonly InputPiece[],
): Promise<RunInput> {
  const parts: ContentPart[] = [];
  for (const piece of pieces) parts.push(await partOf(requester, piece));
  if (parts.some(({ type }) => type === "file")) return parts;
  return textOfPieces(pieces);
}

/** Returns the texts alone. */
export function textOfPieces(pieces: readonly InputPiece[]): string {
  return pieces.flatMap((piece) => ("text" in piece ? [piece.text] : [])).join("\n");
}

async function partOf(requester: Requester, piece: InputPiece): Promise<ContentPart> {
  if ("text" in piece) return { type: "text", text: piece.text };
  if ("ref" in piece) return (await requester.ask(getFile, { ref: piece.ref })).file;
  const { bytes, name, mediaType } = piece;
  const request = { name, ...(mediaType === undefined ? {} : { mediaType }) };
  return (await requester.ask(putFile, request, { attachment: [bytes] })).file;
}
