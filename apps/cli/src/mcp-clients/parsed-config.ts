import { JsonTextError, parseLenientJson } from "@switchyard/service/lenient-json";
import { parse as parseToml } from "smol-toml";
import { CliError } from "../cli-error.ts";
import type { ClientFormat } from "./client-formats.ts";

/** Parses a client's file. An empty file is an empty configuration; one that cannot be read is an error, and is left unchanged. */
export function parsedConfig(
  text: string,
  { syntax, title }: Pick<ClientFormat, "syntax" | "title">,
): Record<string, unknown> {
  if (text.trim() === "") return {};
  try {
    const value = syntax === "json" ? parseLenientJson(text) : parseToml(text);
    if (isTable(value)) return value;
  } catch (error) {
    throw unreadable(title, positionOf(error), error);
  }
  throw unreadable(title, "it has no object", undefined);
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The position of the error; never the text, which may be a secret. */
function positionOf(error: unknown): string {
  if (error instanceof JsonTextError) return error.message;
  const { line, column } = error as { line?: number; column?: number }; // TomlError has both
  return line === undefined ? "it is not TOML" : `line ${line}, column ${column}: not TOML`;
}

function unreadable(title: string, why: string, cause: unknown): CliError {
  return new CliError("usage", `the file of ${title} cannot be read: ${why}`, {
    hint: "correct the file; nothing of it was changed",
    cause,
  });
}
