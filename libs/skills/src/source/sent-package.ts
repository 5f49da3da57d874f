import type { SentFile } from "@switchyard/contracts/skill-importer/definition-store";
import { packageOf, type Package } from "./package.ts";

/** Builds the package of a skill whose files a client sent. */
export function sentPackage(directory: string, files: readonly SentFile[]): Package {
  const shown = directory.replaceAll("\\", "/").replace(/\/+$/, "") || ".";
  return packageOf(
    shown,
    files.map((file) => [file.path, bytesOfSent(file)]),
  );
}

export function bytesOfSent({ text, base64 }: SentFile): Uint8Array {
  return text === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(text);
}
