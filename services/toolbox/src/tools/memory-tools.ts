import { ServiceError } from "@switchyard/contracts/errors";
import { z } from "zod";
import { MAX_NAMES, type MemoryStore } from "../memory/memory-store.ts";
import { defineTool, type Tool, type ToolContext, type MemoryScope } from "../tool.ts";
import { ToolError } from "../tool-error.ts";

const MAX_MEMORY_BYTES = 32 * 1024;

const MemoryName = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[^\p{Cc}]+$/u, "has a control character")
  .describe("What the memory is called");

export function createMemoryTools(store: MemoryStore): readonly Tool[] {
  const memoryRead = defineTool({
    name: "memory_read",
    description: "Reads what you kept under a name, or lists the names when none is given.",
    input: z.strictObject({ name: MemoryName.optional() }),
    async run({ name }, context) {
      const scope = scopeOf(context);
      if (name === undefined) {
        const names = await orToolError(() => store.names(scope));
        const text = names.length === 0 ? "Nothing is kept yet." : names.join("\n");
        return { text, structured: { names } };
      }
      const content = await orToolError(() => store.read(scope, name));
      if (content === null)
        throw new ToolError(
          `Nothing is kept under '${name}'; memory_read without a name lists all.`,
        );
      return { text: content, structured: { name, content } };
    },
  });

  const memoryWrite = defineTool({
    name: "memory_write",
    description: `Keeps a text under a name for your later runs, in place of what was there; null forgets it. Up to ${MAX_MEMORY_BYTES} bytes, ${MAX_NAMES} names.`,
    input: z.strictObject({ name: MemoryName, content: z.string().nullable() }),
    async run({ name, content }, context) {
      const scope = scopeOf(context);
      if (content === null) {
        const forgotten = await orToolError(() => store.forget(scope, name));
        const text = forgotten ? `Forgot '${name}'.` : `Nothing was kept under '${name}'.`;
        return { text, structured: { name, bytesWritten: 0 } };
      }
      const bytes = Buffer.byteLength(content);
      if (bytes > MAX_MEMORY_BYTES)
        throw new ToolError(
          `The text has ${bytes} bytes; a memory holds up to ${MAX_MEMORY_BYTES}.`,
        );
      if (!(await orToolError(() => store.write(scope, name, content))))
        throw new ToolError(`${MAX_NAMES} names are kept already; forget one with content null.`);
      return {
        text: `Kept ${bytes} bytes under '${name}'.`,
        structured: { name, bytesWritten: bytes },
      };
    },
  });
  return [memoryRead, memoryWrite];
}

function scopeOf({ memory }: ToolContext): MemoryScope {
  if (memory === null)
    throw new ToolError("Memory belongs to an agent; it can be used only within a run.");
  return memory;
}

/** Writing the same text twice is harmless, so the error need not state whether it was written. */
async function orToolError<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ServiceError) throw new ToolError(error.message);
    throw new ToolError(`The memory does not answer now (${String(error)}); try again later.`);
  }
}
