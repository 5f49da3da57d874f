import { access, constants } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { readOptional } from "../read-optional.ts";
import { checked, ok, warning, type Check } from "./check.ts";

/** The part of the runner's file that names the keys; the runner itself reports precisely what is wrong with it. */
const ModelsFile = z.looseObject({
  default: z.string().optional(),
  providers: z
    .record(
      z.string(),
      z.looseObject({
        type: z.string().optional(),
        apiKeyEnv: z.string().optional(),
        apiKeyFile: z.string().optional(),
      }),
    )
    .optional(),
});
type Provider = NonNullable<z.infer<typeof ModelsFile>["providers"]>[string];

/** The variables that hold a provider's key when its entry names none. The runner's README has the list. */
const USUAL_VARIABLES = new Map([
  ["anthropic", "ANTHROPIC_API_KEY"],
  ["openai", "OPENAI_API_KEY"],
  ["google", "GOOGLE_GENERATIVE_AI_API_KEY"],
]);

interface KeyCheck {
  readonly provider: string;
  /** The variable or the file; null when the provider needs no key. */
  readonly name: string | null;
  readonly isThere: boolean;
  readonly fix: string;
}

/** Reports the model keys that are set: names only, never values. `workspace` is the runner's working directory. */
export async function checkModels(options: {
  file: string;
  workspace: string;
  env: NodeJS.ProcessEnv;
}): Promise<Check> {
  const { file } = options;
  return checked("models", `correct ${file}`, async () => {
    const text = await readOptional(file);
    if (text === null)
      return ok(
        "models",
        "no models.json: agents use scripted/plan, which is rule-based and no AI",
      );
    const models = ModelsFile.parse(JSON.parse(text));
    const keys = await Promise.all(
      Object.entries(models.providers ?? {}).map(([provider, entry]) =>
        keyOf(provider, entry, options),
      ),
    );
    const summary = keys
      .map(
        ({ provider, name, isThere }) =>
          `${provider} (${name ?? "no key needed"}${isThere ? "" : ": not there"})`,
      )
      .join(", ");
    const chosen = models.default?.split("/")[0];
    const missing = keys.find(({ provider, isThere }) => provider === chosen && !isThere);
    return missing === undefined
      ? ok("models", [`default ${models.default ?? "scripted/plan"}`, summary].join("; "))
      : warning("models", `the default ${models.default} has no key here`, missing.fix);
  });
}

async function keyOf(
  provider: string,
  { type = "", apiKeyEnv, apiKeyFile }: Provider,
  { workspace, env }: { workspace: string; env: NodeJS.ProcessEnv },
): Promise<KeyCheck> {
  if (apiKeyFile !== undefined) {
    const path = resolve(workspace, apiKeyFile);
    const isThere = await access(path, constants.R_OK).then(
      () => true,
      () => false,
    );
    return { provider, name: path, isThere, fix: `write the key to ${path}` };
  }
  const name = apiKeyEnv ?? USUAL_VARIABLES.get(type) ?? null;
  const isThere = name === null || (env[name] ?? "").trim() !== "";
  return { provider, name, isThere, fix: `export ${name}=… where ./yard dev is started` };
}
