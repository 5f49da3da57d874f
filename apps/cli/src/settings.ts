import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { CliError } from "./cli-error.ts";
import { projectAt, STATE_FOLDER } from "./locations.ts";

/** The settings of `yard config`, each with its purpose. */
export const SETTINGS = {
  agent: "who answers in yard chat",
  model: "the model of yard chat and yard run, in place of the agent's own",
  context: "which installation the commands talk to",
  color: "auto, always or never",
} as const;
export type SettingName = keyof typeof SETTINGS;

/** Chooses the installation for a shell, a script or a job of CI. The other settings have flags. */
const CONTEXT_VARIABLE = "YARD_CONTEXT";

/** The address of an installation, and the user there. */
export type Context = NatsContext | HttpContext;

interface NatsContext {
  readonly nats: string;
  readonly user: string | null;
  readonly nkeyFile: string | null;
}

/** Its gateway, and the file with an API key. */
interface HttpContext {
  readonly http: string;
  readonly keyFile: string;
}

export interface Setting {
  readonly value: string | null;
  /** The setting's source: a variable, a file, or `default`. */
  readonly origin: string;
}

const DEFAULTS: Partial<Record<SettingName, string>> = { color: "auto" };
const MAX_BYTES = 256 * 1024;

/** `~/.config/switchyard/config.json`, https://specifications.freedesktop.org/basedir-spec/latest/. */
export function userConfigFile(env: NodeJS.ProcessEnv): string {
  const chosen = env["XDG_CONFIG_HOME"];
  const base =
    chosen !== undefined && isAbsolute(chosen) ? chosen : join(env["HOME"] ?? homedir(), ".config");
  return join(base, "switchyard", "config.json");
}

/** `.switchyard/config.json` of the project around a directory; null outside of every project. */
export function projectConfigFile(env: NodeJS.ProcessEnv, cwd = process.cwd()): string | null {
  const project = projectAt(cwd, env);
  return project === null ? null : join(project, STATE_FOLDER, "config.json");
}

/** A setting by its precedence: environment, project, user, default. Flags override it at their command. */
export function setting(name: SettingName, env: NodeJS.ProcessEnv): Setting {
  const given = name === "context" ? (env[CONTEXT_VARIABLE] ?? "") : "";
  if (given !== "") return { value: given, origin: CONTEXT_VARIABLE };
  const project = projectConfigFile(env);
  // Files checked out with a project must not redirect commands to another installation.
  const files = [...(project === null || name === "context" ? [] : [project]), userConfigFile(env)];
  for (const file of files) {
    const value = readConfig(file)[name];
    if (typeof value === "string" && value !== "") return { value, origin: file };
  }
  return { value: DEFAULTS[name] ?? null, origin: "default" };
}

/** Writes a setting to one file; null takes it out. */
export function changeSetting(file: string, name: SettingName, value: string | null): void {
  if (name === "color" && value !== null && !["auto", "always", "never"].includes(value))
    throw new CliError("usage", `color is auto, always or never, and not ${JSON.stringify(value)}`);
  const config = { ...readConfig(file) };
  if (value === null) delete config[name];
  else config[name] = value;
  writeConfig(file, config);
}

export function contexts(env: NodeJS.ProcessEnv): Readonly<Record<string, Context>> {
  const all = readConfig(userConfigFile(env))["contexts"];
  if (typeof all !== "object" || all === null) return {};
  return Object.fromEntries(
    Object.entries(all as Record<string, unknown>).flatMap(([name, value]) => {
      const context = contextOf(value);
      return context === null ? [] : [[name, context]];
    }),
  );
}

export function saveContext(env: NodeJS.ProcessEnv, name: string, context: Context | null): void {
  const file = userConfigFile(env);
  const all: Record<string, Context> = { ...contexts(env) };
  if (context === null) delete all[name];
  else all[name] = context;
  writeConfig(file, { ...readConfig(file), contexts: all });
}

/** The address of a gateway, where the variable has one in place of a name of a context. */
export function namedGateway(env: NodeJS.ProcessEnv): string | null {
  const given = env[CONTEXT_VARIABLE] ?? "";
  return given.includes("://") ? given : null;
}

/** The selected context; null for none. Throws `usage` for an unknown one. */
export function currentContext(
  env: NodeJS.ProcessEnv,
): { readonly name: string; readonly context: Context } | null {
  const { value: name, origin } = setting("context", env);
  if (name === null || name === LOCAL || namedGateway(env) !== null) return null;
  const context = contexts(env)[name];
  if (context !== undefined) return { name, context };
  throw new CliError("usage", `there is no context ${name} (from ${origin})`, {
    hint: "see those that there are with: ./yard context list",
  });
}

/** The name of the installation of this machine: no context. */
export const LOCAL = "local";

function contextOf(value: unknown): Context | null {
  if (typeof value !== "object" || value === null) return null;
  const { nats, user, nkeyFile, http, keyFile } = value as Record<string, unknown>;
  if (typeof http === "string" && typeof keyFile === "string") return { http, keyFile };
  if (typeof nats !== "string") return null;
  return {
    nats,
    user: typeof user === "string" ? user : null,
    nkeyFile: typeof nkeyFile === "string" ? nkeyFile : null,
  };
}

function readConfig(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return {};
    throw error;
  }
  try {
    if (text.length > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} characters`);
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
    throw new Error("it is not a JSON object");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CliError("usage", `${file} cannot be used: ${why}`, {
      hint: "correct it, or remove it",
      cause,
    });
  }
}

function writeConfig(file: string, config: Record<string, unknown>): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
  renameSync(next, file);
}
