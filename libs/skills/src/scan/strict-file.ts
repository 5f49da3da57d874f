import { open } from "node:fs/promises";
import type { z } from "zod";
import { parseYamlByLibrary } from "../frontmatter/safe-yaml.ts";

/** The text of a file of the operator. Rejects when it is larger than such a file ever is. */
export async function readAtMost(path: string, maxBytes: number): Promise<string> {
  await using file = await open(path);
  const { size } = await file.stat();
  if (size > maxBytes) throw new Error(`${path} has ${size} bytes, the limit is ${maxBytes}`);
  return file.readFile("utf8");
}

/** Parses a YAML text against a schema. Throws on the smallest mistake and names it; `path` is for the message. */
export function parseStrictly<S extends z.ZodType>(
  schema: S,
  text: string,
  path: string,
): z.output<S> {
  const parsed = parseYamlByLibrary(text, { schema: "core" });
  if ("problem" in parsed) {
    const { message, line } = parsed.problem;
    throw new Error(`${path}:${line ?? 1}: ${message}`);
  }
  const read = schema.safeParse(parsed.values);
  if (read.success) return read.data;
  const problems = read.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new Error(`${path}: ${problems.join("; ")}`);
}
