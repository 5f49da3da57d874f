import { open } from "node:fs/promises";
import { CliError } from "../cli-error.ts";

const MAX_ARCHIVE_BYTES = 40 * 1024 * 1024;

/** Reads an archive of this machine; a usage error when it is larger than one call may bring. */
export async function readArchive(path: string): Promise<Buffer> {
  await using file = await open(path);
  const { size } = await file.stat();
  if (size > MAX_ARCHIVE_BYTES) throw tooLarge();
  return file.readFile();
}

/** The same from standard input. */
export async function readStandardInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ARCHIVE_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Detected by its first bytes; a name is less reliable. `label` names it in errors. */
export function formatOf(bytes: Buffer, label: string): "zip" | "tar.gz" | "tar" {
  if (bytes.subarray(0, 2).toString("latin1") === "PK") return "zip";
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "tar.gz";
  if (isTar(bytes)) return "tar";
  throw new CliError("usage", `${label} is not a zip, tar or tar.gz file`, {
    hint: "pack it as one of these, or name a directory",
  });
}

/** A tar's first header, or the zeros of an empty one, holds the sum of its own bytes, its place for that read as blanks. */
function isTar(bytes: Buffer): boolean {
  if (bytes.length < 512) return false;
  const header = Buffer.from(bytes.subarray(0, 512));
  const stated = Number.parseInt(header.toString("latin1", 148, 156).replaceAll(/[\0 ]/g, ""), 8);
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  return stated === sum || header.subarray(0, 148).every((byte) => byte === 0);
}

function tooLarge(): CliError {
  return new CliError("usage", `an archive has at most ${MAX_ARCHIVE_BYTES / 1024 ** 2} MiB`, {
    hint: "unpack it and name the directory",
  });
}
