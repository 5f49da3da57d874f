import type { ContentPart, FilePart } from "./content-parts.ts";

// Apart from the schemas, which the console does not load.

/** The files of an input. */
export function filesOf(input: unknown): FilePart[] {
  // An object is an input of its own form, and only a list has parts.
  if (!Array.isArray(input)) return [];
  return (input as readonly ContentPart[]).filter((part) => part.type === "file");
}

/** An input as one text: an object as JSON, and in place of each file its label. */
export function inputText(
  input: string | readonly ContentPart[] | Readonly<Record<string, unknown>>,
  indent?: number,
): string {
  if (typeof input === "string") return input;
  // `isArray` does not narrow read-only lists.
  if (!Array.isArray(input)) return JSON.stringify(input, null, indent);
  return (input as readonly ContentPart[])
    .map((part) => (part.type === "text" ? part.text : fileLabel(part)))
    .join("\n");
}

/** The text that stands for a file where only text can be shown, such as `[file chart.png, image/png, 12 KiB]`. */
export function fileLabel({
  name,
  mediaType,
  sizeBytes,
}: Pick<FilePart, "name" | "mediaType" | "sizeBytes">): string {
  return `[file ${name}, ${mediaType}, ${sizeOf(sizeBytes)}]`;
}

function sizeOf(bytes: number): string {
  if (bytes < 1_024) return `${bytes} bytes`;
  const kib = bytes / 1_024;
  return kib < 1_024 ? `${Math.round(kib)} KiB` : `${(kib / 1_024).toFixed(1)} MiB`;
}
