import { chmod, cp, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { ModelName } from "@switchyard/contracts/ids";
import { CliError } from "../cli-error.ts";
import { HOME, yardFrom } from "../locations.ts";
import { shellWord } from "../shell-word.ts";
import { writeJson, type Terminal } from "../terminal.ts";

export const TEMPLATES = ["minimal", "team", "openclaw"] as const;
export type Template = (typeof TEMPLATES)[number];

/** Each template is the first one with its own files over it. */
const BASE: Template = "minimal";
const TEMPLATE_DIRECTORY = join(HOME, "apps", "cli", "templates");

/** A variable with a key, and a model to name with it. */
const KEYS = {
  ANTHROPIC_API_KEY: "anthropic/claude-sonnet-4-5",
  OPENAI_API_KEY: "openai/gpt-5-mini",
  GOOGLE_GENERATIVE_AI_API_KEY: "google/gemini-2.5-flash",
} as const;

/** Lets the owner change these files and the folders between them and the root. */
export async function makeWritable(root: string, files: readonly string[]): Promise<void> {
  const places = new Set(files.flatMap((file) => [file, ...parentsOf(file)]));
  await Promise.all(
    [".", ...places].map(async (place) => {
      const path = join(root, place);
      const { mode } = await stat(path);
      await chmod(path, mode | 0o200);
    }),
  );
}

function parentsOf(file: string): string[] {
  const parent = dirname(file);
  return parent === "." ? [] : [parent, ...parentsOf(parent)];
}

/** `yard init`: writes a small project that runs at once. Nothing that exists is changed. */
export async function init(
  terminal: Terminal,
  directory: string,
  options: { template: Template; model?: string; json?: true },
): Promise<void> {
  const { template, model } = options;
  if (model !== undefined && !ModelName.safeParse(model).success)
    throw new CliError("usage", `${JSON.stringify(model)} is not the name of a model`, {
      hint: "a name is provider/model, such as anthropic/claude-sonnet-4-5",
    });
  const root = resolve(directory);
  const sources = [...new Set([BASE, template])].map((name) => join(TEMPLATE_DIRECTORY, name));
  const files = new Set((await Promise.all(sources.map(filesOf))).flat());
  await refuseExisting(root, files);
  await mkdir(root, { recursive: true });
  // Sequential: a template's own files overwrite those of the first one.
  for (const source of sources) {
    await cp(source, root, { recursive: true });
    // The templates may be installed read-only, and their modes are copied.
    await makeWritable(root, await filesOf(source));
  }
  const shown = shownPath(root);
  const readme = join(root, "README.md");
  await writeFile(readme, (await readFile(readme, "utf8")).replaceAll("YARD", yardFrom(root)));
  if (model !== undefined) await setModel(join(root, "models.json"), model);
  const yard = yardFrom(root);
  const next = [`cd ${shown}`, `${yard} dev`, `${yard} run helper "What is in the notes?"`];
  if (options.json)
    return writeJson(terminal, { directory: root, template, files: [...files].toSorted(), next });
  terminal.out(`Made ${shown} from the template ${template}:`);
  for (const file of [...files].toSorted()) terminal.out(`  ${file}`);
  terminal.out(
    `\nStart it:\n\n  ${next[0]}\n  ${next[1]}\n\nThen, in another terminal and the same folder:\n\n  ${next[2]}`,
  );
  if (template === "team") terminal.out(`  ${yard} run writer "Write the summary."`);
  terminal.out(`  ${yard} chat --agent helper`);
  for (const line of modelHints(model, terminal.env)) terminal.note(line);
}

/** Advice about real models; none is chosen for the person. */
function modelHints(model: string | undefined, env: NodeJS.ProcessEnv): string[] {
  if (model !== undefined) return [];
  const found = Object.entries(KEYS).find(([name]) => (env[name] ?? "") !== "");
  return found === undefined
    ? ["", "The agents follow a plan, without AI. A real model: see README.md of the project."]
    : ["", `${found[0]} is set: for a real model add --model ${found[1]} to run or chat.`];
}

async function filesOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)));
}

async function refuseExisting(root: string, files: ReadonlySet<string>): Promise<void> {
  const there = await readdir(root, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const clashes = there.filter((file) => files.has(file));
  if (clashes.length === 0) return;
  const shown = clashes.slice(0, 5).join(", ");
  throw new CliError("usage", `${shownPath(root)} has ${shown} already; nothing was written`, {
    hint: "name a new directory: ./yard init my-project",
  });
}

async function setModel(file: string, model: string): Promise<void> {
  const config = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>; // our own template
  await writeFile(file, `${JSON.stringify({ ...config, default: model }, null, 2)}\n`);
}

/** The command to type, quoted where a shell needs it. */
function shownPath(root: string): string {
  const path = relative(process.cwd(), root) || ".";
  const shorter = path.startsWith("..") ? root : path;
  return shellWord(shorter);
}
