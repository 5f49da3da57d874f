import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CliError } from "../cli-error.ts";

export type SkillClient = "openclaw" | "claude" | "clawft";

/** The folders of each client's skills: below the home directory, and below the project of the working directory. */
const FOLDERS: Readonly<Record<SkillClient, { home: readonly string[]; project: string }>> = {
  openclaw: { home: [".openclaw/workspace/skills", ".openclaw/skills"], project: "" },
  claude: { home: [".claude/skills"], project: ".claude/skills" },
  clawft: { home: [".clawft/skills", ".clawft/workspace/skills"], project: ".clawft/skills" },
};

/** The folders with skills of another client that there are. Throws `directory_missing` with where it looked when there is none. */
export async function skillFoldersOf(
  client: SkillClient,
  { home, cwd }: { readonly home: string; readonly cwd: string },
): Promise<string[]> {
  const { home: own, project } = FOLDERS[client];
  const directories = [
    ...(project === "" ? [] : upwards(cwd, home).map((at) => join(at, project))),
    ...own.map((folder) => join(home, folder)),
  ];
  const found: string[] = [];
  for (const directory of directories) {
    const facts = await stat(directory).catch(() => null);
    if (facts?.isDirectory() === true) found.push(directory);
  }
  if (found.length > 0) return found;
  const looked = own.map((folder) => `~/${folder}`).join(" and ");
  throw new CliError("directory_missing", `${client} has no skills in ${looked}`, {
    hint: "name the directory instead: ./yard skills import DIR",
  });
}

/** From here up to, and without, the home directory, which is not a project. */
function upwards(cwd: string, home: string): string[] {
  const directories: string[] = [];
  for (let at = cwd; at !== home && at !== dirname(at); at = dirname(at)) directories.push(at);
  return directories;
}
