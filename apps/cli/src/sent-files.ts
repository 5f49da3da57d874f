import { readFile, stat } from "node:fs/promises";
import { basename, extname } from "node:path";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import {
  MAX_FILE_BYTES,
  MAX_INPUT_FILES,
  type FilePart,
} from "@switchyard/contracts/agent-runner/content-parts";
import { putFile } from "@switchyard/contracts/agent-runner/files";
import { CliError } from "./cli-error.ts";

/** A file on its way to a run. */
export interface ReadFile {
  readonly name: string;
  readonly mediaType: string | undefined;
  readonly bytes: Uint8Array;
}

/** Types of texts, whose bytes do not show them. */
const TEXT_TYPES: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".html": "text/html",
  ".json": "application/json",
  ".md": "text/markdown",
  ".xml": "application/xml",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
};

/** Reads files of this machine, before anything is sent. Rejects with the file system's error, and with a CliError for one that is too large. */
export async function readFiles(paths: readonly string[]): Promise<ReadFile[]> {
  if (paths.length > MAX_INPUT_FILES)
    throw new CliError("usage", `--file: a run accepts ${MAX_INPUT_FILES} files at most`);
  return Promise.all(
    paths.map(async (path) => {
      const bytes = await readOne(path);
      const mediaType = TEXT_TYPES[extname(path).toLowerCase()];
      return { name: basename(path), mediaType, bytes };
    }),
  );
}

async function readOne(path: string): Promise<Uint8Array> {
  const { size } = await stat(path);
  if (size <= MAX_FILE_BYTES) return readFile(path);
  throw new CliError(
    "usage",
    `--file: ${path} has ${size} bytes, and a file may have ${MAX_FILE_BYTES}`,
    { hint: "put it into the workspace, where the agent's tools can read it" },
  );
}

/** Stores files for the caller's runs, and returns the parts that name them. Rejects with a ServiceError. */
export async function storeFiles(bus: Bus, files: readonly ReadFile[]): Promise<FilePart[]> {
  const parts: FilePart[] = [];
  for (const { name, mediaType, bytes } of files) {
    const request = { name, ...(mediaType === undefined ? {} : { mediaType }) };
    parts.push((await call(bus, putFile, request, { attachment: [bytes] })).file);
  }
  return parts;
}
