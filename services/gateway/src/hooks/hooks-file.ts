import { readFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { AgentName } from "@switchyard/contracts/ids";
import { readSecretFile } from "@switchyard/service/secret-file";
import { webhookKey } from "@switchyard/service/standard-webhook";
import { StartError } from "@switchyard/service/start-error";
import { z } from "zod";
import type { OwnOperations } from "../routes/own-operations.ts";
import { listHooks } from "../routes/webhook-operations.ts";

/** The sender's form of signatures. */
export type HookForm = "standard" | "github";

/** One webhook that starts runs, including its secrets. */
export interface Hook {
  readonly name: string;
  readonly agent: string;
  /** Runs start as the caller of this API key. */
  readonly key: string;
  readonly form: HookForm;
  /** A delivery may be signed with any of them, so that an old and a new secret can be valid at the same time. */
  readonly secrets: readonly Uint8Array[];
  /** Null: all. */
  readonly events: ReadonlySet<string> | null;
  /** The template of the run's input. */
  readonly input: string | Readonly<Record<string, unknown>>;
}

export type Hooks = ReadonlyMap<string, Hook>;

/** The fields that the pointers of an input may refer to. */
export const TEMPLATE_FIELDS = ["body", "event", "delivery", "hook"] as const;

const HookName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "a hook's name must be 1-32 characters of a-z 0-9 -");

const REFERENCE = /^\$\{([A-Za-z_]\w*)\}$/;
const NO_SECRET = 'must be "${VARIABLE}" or {"file": "path"}: this file itself holds no secret';
const Secret = z.union(
  [z.string().regex(REFERENCE, NO_SECRET), z.strictObject({ file: z.string().min(1).max(4_096) })],
  { error: NO_SECRET },
);
type Secret = z.output<typeof Secret>;

const Input = z
  .union([z.string().min(1).max(65_536), z.record(z.string(), z.unknown())], {
    error: 'must be a text or a JSON object, with {{/body/…}} or {"$from": "/body/…"} in it',
  })
  .superRefine((input, context) => {
    for (const pointer of pointersIn(input))
      if (!TEMPLATE_FIELDS.some((field) => `${pointer}/`.startsWith(`/${field}/`)))
        context.addIssue({
          code: "custom",
          message: `the pointer ${pointer} finds nothing: it must begin with ${TEMPLATE_FIELDS.map((field) => `/${field}`).join(", ")}`,
        });
  });

const HookEntry = z.strictObject({
  agent: AgentName,
  key: Secret,
  signature: z.enum(["standard", "github"]).default("standard"),
  secrets: z.array(Secret).min(1).max(5),
  events: z.array(z.string().min(1).max(128)).min(1).max(100).optional(),
  input: Input.default({ $from: "/body" }),
});

const HooksFile = z.strictObject({
  $schema: z.string().optional(),
  hooks: z.record(HookName, HookEntry),
});

const HINT = "docs/http.md#webhooks describes its contents";

/** Reads `hooks.json`; without a file there are no hooks. Rejects with a StartError that names all errors of the file, and no secret. */
export async function readHooks(
  path: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Hooks> {
  if (path === undefined) return new Map();
  const fileName = basename(path);
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new StartError(`YARD_HOOKS_FILE cannot be read: ${String(cause)}`, { hint: HINT, cause });
  });
  const file = HooksFile.safeParse(parsed(text, fileName));
  if (!file.success) throw new StartError(`${fileName}: ${problemsOf(file.error)}`, { hint: HINT });
  const hooks = new Map<string, Hook>();
  const problems: string[] = [];
  for (const [name, entry] of Object.entries(file.data.hooks)) {
    const { agent, signature: form, events, input } = entry;
    const read = (secret: Secret, field: string) =>
      secretOf(secret, { field: `hooks.${name}.${field}`, directory: dirname(path), env });
    try {
      const key = await read(entry.key, "key");
      if (!key.startsWith("yk_"))
        throw new HookError(`hooks.${name}.key: is no API key: those begin with yk_`);
      const secrets: Uint8Array[] = [];
      for (const [index, secret] of entry.secrets.entries()) {
        const field = `secrets.${index}`;
        secrets.push(keyOf(form, await read(secret, field), `hooks.${name}.${field}`));
      }
      const wanted = events === undefined ? null : new Set(events);
      hooks.set(name, { name, agent, key, form, secrets, events: wanted, input });
    } catch (error) {
      if (!(error instanceof HookError) && !(error instanceof StartError)) throw error;
      problems.push(error.message);
    }
  }
  if (problems.length > 0)
    throw new StartError(`${fileName}: ${problems.join("; ")}`, { hint: HINT });
  return hooks;
}

class HookError extends Error {}

async function secretOf(
  secret: Secret,
  about: {
    readonly field: string;
    readonly directory: string;
    readonly env: Readonly<Record<string, string | undefined>>;
  },
): Promise<string> {
  const { field, directory, env } = about;
  if (typeof secret === "object") return readSecretFile(resolve(directory, secret.file), field);
  const name = REFERENCE.exec(secret)?.[1] ?? "";
  const found = env[name]?.trim() ?? "";
  if (found !== "") return found;
  throw new HookError(`${field}: the environment variable ${name} is not set for the gateway`);
}

/** Returns the key with which the sender signs (https://www.standardwebhooks.com; GitHub uses the text itself). */
function keyOf(form: HookForm, secret: string, field: string): Uint8Array {
  if (form === "github") {
    if (secret.length >= 16) return Buffer.from(secret);
    throw new HookError(`${field}: is shorter than 16 characters, which can be guessed`);
  }
  const key = webhookKey(secret);
  if (key !== null) return key;
  throw new HookError(`${field}: must be whsec_ and 24 to 64 bytes in base64`);
}

function pointersIn(value: unknown): string[] {
  if (typeof value === "string")
    return [...value.matchAll(/\{\{\s*(\/[^|}]*)/g)].map(([, pointer = ""]) => pointer.trim());
  if (typeof value !== "object" || value === null) return [];
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length === 1 && only?.[0] === "$from" && typeof only[1] === "string")
    return [only[1]];
  return entries.flatMap(([, item]) => (typeof item === "object" ? pointersIn(item) : []));
}

function parsed(text: string, fileName: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/, "[^]*$/, "") : "no JSON";
    throw new StartError(`${fileName} is not valid JSON: ${reason}`, { hint: HINT, cause: error });
  }
}

/** The problems name rules and paths and never values: a value may be a misplaced secret. */
function problemsOf(error: z.ZodError): string {
  return error.issues
    .map((issue) => {
      const { path, code } = issue;
      const message =
        issue.code === "invalid_key" ? (issue.issues[0]?.message ?? "") : issue.message;
      const said = code === "invalid_value" ? message.replace(/, received.*$/, "") : message;
      return path.length === 0 ? said : `${path.map(String).join(".")}: ${said}`;
    })
    .join("; ");
}

export function serveHookList(own: OwnOperations, hooks: Hooks): void {
  const shown = [...hooks.values()].map(({ name, agent, form: signature, events }) => ({
    name,
    agent,
    signature,
    events: events === null ? null : [...events],
  }));
  own.add(listHooks, async () => ({ hooks: shown }));
}
