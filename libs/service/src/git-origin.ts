import { open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The origin of a git checkout. */
export interface GitOrigin {
  /** The URL of the remote `origin`, without user, password, query and fragment. */
  readonly url: string | null;
  readonly commit: string | null;
}

/**
 * Finds the checkout that contains a directory, at most as high as `top`, and reads its origin from the files in `.git`. No git process is
 * started, so no hook, filter or configured command of the checkout can run. Null when there is no checkout. A linked work tree or
 * submodule (`.git` is a file) has no origin here: its pointer may lead anywhere.
 */
export async function readGitOrigin(directory: string, top: string): Promise<GitOrigin | null> {
  for (let at = directory; ; at = dirname(at)) {
    const git = join(at, ".git");
    if (await isDirectory(git)) return { url: await remoteUrl(git), commit: await headCommit(git) };
    if (at === top || at === dirname(at)) return null;
  }
}

/** The URL of `origin` in the text of a git configuration, fit to be shown; null when it has none. */
export function originUrlOf(config: string): string | null {
  let isInOrigin = false;
  for (const line of config.split("\n")) {
    const section = /^\s*\[(.*)\]/.exec(line);
    if (section !== null) isInOrigin = section[1]?.trim() === 'remote "origin"';
    const url = isInOrigin ? /^\s*url\s*=(.*)$/.exec(line)?.[1]?.trim() : undefined;
    if (url !== undefined && url !== "") return withoutCredentials(url);
  }
  return null;
}

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const REF = /^refs\/[A-Za-z0-9._/-]{1,200}$/;
const MAX_GIT_FILE_BYTES = 4 * 1024 * 1024;
const MAX_URL = 1_024;

function withoutCredentials(text: string): string | null {
  if (/[^\x21-\x7e]/.test(text) || text.length > MAX_URL) return null;
  // `git@host:path` is the short form of ssh; the part before the at sign is a user's name.
  const short = /^(?:[^/@:]+@)?([\w.-]+):(?!\/\/)(.+)$/.exec(text);
  if (short !== null) return `${short[1]}:${short[2]}`;
  const url = URL.parse(text);
  if (url === null) return null; // a path of the machine is private
  if (!["https:", "http:", "ssh:", "git:"].includes(url.protocol)) return null;
  return `${url.protocol}//${url.host}${url.pathname}`;
}

async function remoteUrl(git: string): Promise<string | null> {
  const config = await textOf(join(git, "config"));
  return config === null ? null : originUrlOf(config);
}

async function headCommit(git: string): Promise<string | null> {
  const head = (await textOf(join(git, "HEAD")))?.trim();
  if (head === undefined) return null;
  if (COMMIT.test(head)) return head;
  const ref = head.replace(/^ref: */, "");
  if (!REF.test(ref) || ref.split("/").includes("..")) return null;
  const loose = (await textOf(join(git, ref)))?.trim();
  if (loose !== undefined) return COMMIT.test(loose) ? loose : null;
  const packed = await textOf(join(git, "packed-refs"));
  const line = packed?.split("\n").find((one) => one.endsWith(` ${ref}`));
  const commit = line?.split(" ")[0] ?? "";
  return COMMIT.test(commit) ? commit : null;
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

/** Null for a file that is not an ordinary one of ordinary size. */
async function textOf(path: string): Promise<string | null> {
  try {
    const facts = await stat(path);
    if (!facts.isFile() || facts.size > MAX_GIT_FILE_BYTES) return null;
    await using file = await open(path);
    return await file.readFile("utf8");
  } catch {
    return null;
  }
}
