import { join, resolve } from "node:path";
import { PublicJwk } from "@switchyard/audit/audit-keys";
import { createRunTokenKey, runTokenKeyId } from "@switchyard/service/run-token";
import { z } from "zod";
import { cipherKeyFile, rotateCipherKey } from "../cipher-keys.ts";
import { CliError } from "../cli-error.ts";
import { readSecret, writeSecret } from "../secret-files.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/**
 * `yard keys rotate`: a new key signs run tokens as soon as every policy service knows it, and tokens of the one
 * before stay good until they end. The keys never leave the machine; the services see that their file has changed.
 */
export async function rotate(
  terminal: Terminal,
  options: { json?: true; dir: string; auditValues?: true },
): Promise<void> {
  const directory = resolve(options.dir);
  if (options.auditValues) return rotateAuditValues(terminal, directory, options);
  const file = join(directory, "run-token.jwk");
  const { current, retired } = await readKeys(file);
  if (current === undefined)
    throw new CliError("file_missing", `${file} holds no run-token key`, {
      hint: "where no such file is, yard keys init makes one",
    });
  const accepted = await idOf(current, file);
  const { privateJwk, publicJwk } = await createRunTokenKey();
  const keys = [JSON.parse(privateJwk) as unknown, current]; // as it was made
  await writeSecret(file, JSON.stringify({ keys, ...(retired.length > 0 && { retired }) }));
  await writeSecret(join(directory, "run-token.pub.jwk"), publicJwk);
  const signing = await runTokenKeyId(privateJwk);
  if (options.json) return writeJson(terminal, { file, signing, accepted });
  terminal.out(`key ${signing} will sign run tokens, those of key ${accepted} stay good`);
  terminal.note(
    "bring the file to every policy service; each takes it without a restart (yard policy keys)",
  );
}

/** `--audit-values`: the keys before stay in the file, because records of their time are read with them. */
async function rotateAuditValues(
  terminal: Terminal,
  directory: string,
  options: { json?: true },
): Promise<void> {
  const rotated = await rotateCipherKey(directory, "audit-values");
  if (rotated === null)
    throw new CliError("file_missing", `${cipherKeyFile(directory, "audit-values")} is missing`, {
      hint: "yard keys init makes it",
    });
  if (options.json) return writeJson(terminal, rotated);
  terminal.out(`${rotated.file} has ${rotated.keys} keys; the first is new`);
  terminal.note(
    "bring the file to every policy service and restart it; older records need the older keys, so leave them in",
  );
}

/** Checked before anything is written: a file that is not a key stays unchanged. */
async function idOf(key: unknown, file: string): Promise<string> {
  try {
    return await runTokenKeyId(JSON.stringify(key));
  } catch (error) {
    throw new CliError("start_failed", `the first key in ${file} is not a run-token key`, {
      hint: "put the file back from a backup, or remove it and make another key: yard keys init",
      cause: error,
    });
  }
}

/**
 * The signing key, undefined where there is no file or none that holds JSON, and the public halves of those before it, whose
 * signatures are in the audit.
 */
async function readKeys(file: string): Promise<{ current: unknown; retired: PublicJwk[] }> {
  const content = parsed((await readSecret(file)) ?? "");
  const set = z.looseObject({ keys: z.array(z.unknown()) }).safeParse(content);
  const [current, ...older] = set.success ? set.data.keys : [content ?? undefined];
  const before = [...older, ...z.array(z.unknown()).catch([]).parse(set.data?.["retired"])];
  const retired = before.flatMap((key) => PublicJwk.safeParse(key).data ?? []);
  return { current, retired };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
