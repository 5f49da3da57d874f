import { z } from "zod";
import { defineTool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { openForReading } from "../workspace/open-place.ts";
import { replaceFile } from "../workspace/replace-file.ts";
import { placeOf } from "../workspace/workspace.ts";
import { decodeText, readBytes } from "./read-text.ts";
import { WRITE_LIMIT_BYTES } from "./write-file.ts";

export const editFile = defineTool({
  name: "edit_file",
  description:
    "Replaces a text in a file of the workspace. The text must occur exactly once, unless replaceAll is true.",
  input: z.strictObject({
    path: z.string().describe("Path of the file, relative to the workspace"),
    oldText: z.string().min(1).describe("The text to replace, exactly as it stands in the file"),
    newText: z.string().describe("What to put in its place"),
    replaceAll: z.boolean().default(false).describe("Replace every occurrence"),
  }),
  async run({ path, oldText, newText, replaceAll }, { workspace }) {
    const place = await placeOf(workspace, path);
    const before = await readWhole(place, path);
    const parts = before.split(oldText);
    const occurrences = parts.length - 1;
    if (occurrences === 0)
      throw new ToolError(`'${path}' does not contain oldText; read_file shows what it contains.`);
    if (occurrences > 1 && !replaceAll)
      throw new ToolError(
        `'${path}' contains oldText ${occurrences} times; give more of the text around it, or set replaceAll.`,
      );
    const bytes = Buffer.from(parts.join(newText), "utf8");
    if (bytes.length > WRITE_LIMIT_BYTES)
      throw new ToolError(
        `'${path}' would have ${bytes.length} bytes; edit_file writes up to ${WRITE_LIMIT_BYTES}.`,
      );
    await replaceFile(place, bytes);
    return {
      text: `Replaced ${occurrences} ${occurrences === 1 ? "occurrence" : "occurrences"} in ${path}; it has ${bytes.length} bytes now.`,
      structured: { path, occurrences, bytesWritten: bytes.length },
    };
  },
});

async function readWhole(place: Parameters<typeof openForReading>[0], asked: string) {
  const file = await openForReading(place);
  try {
    const { size } = await file.stat();
    if (size > WRITE_LIMIT_BYTES)
      throw new ToolError(
        `'${asked}' has ${size} bytes; edit_file takes up to ${WRITE_LIMIT_BYTES}.`,
      );
    const bytes = await readBytes(file, { position: 0, length: WRITE_LIMIT_BYTES + 1 });
    const text = decodeText(bytes, asked);
    // Writing the text back would change the bytes that are not UTF-8.
    if (!Buffer.from(text, "utf8").equals(bytes))
      throw new ToolError(`'${asked}' is not UTF-8; editing it would change other parts too.`);
    return text;
  } finally {
    await file.close();
  }
}
