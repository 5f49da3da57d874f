/** Directories whose files are never meant to be imported. */
const NEVER_ENTERED = /^(?:node_modules|\..+)$/;
const AGENT_FILE = /\.(?:ya?ml|md)$/;
/** Files whose names mark something else. */
const OTHER_FILE = /^(?:skills?|readme)\.md$/i;
const SKILL_FILES: ReadonlySet<string> = new Set(["SKILL.md", "skill.md", "skills.md"]);
const OWN_DIRECTORY: ReadonlySet<string> = new Set(["agent.yaml", "agent.yml", "AGENT.md"]);

/**
 * Selects the paths of a tree, with `/`, that are agent files: those in a directory `agents`, and `agent.yaml` and `AGENT.md` anywhere; in
 * a tree that has none of them every YAML and Markdown file. Hidden directories, installed packages and everything in a skill's directory
 * are left out. The paths keep their order.
 */
export function agentPaths(paths: readonly string[]): string[] {
  const skills = new Set(paths.filter((path) => SKILL_FILES.has(nameOf(path))).map(directoryOf));
  const possible = paths.filter(
    (path) => mayBeAgentPath(path) && !isWithin(directoryOf(path), skills),
  );
  const certain = possible.filter(
    (path) => nameOf(directoryOf(path)) === "agents" || OWN_DIRECTORY.has(nameOf(path)),
  );
  return certain.length > 0 ? certain : possible;
}

/** True for a path that can be an agent file, judged by its own name and its directories alone. */
export function mayBeAgentPath(path: string): boolean {
  const directories = path.split("/").slice(0, -1);
  const name = nameOf(path);
  return (
    AGENT_FILE.test(name) &&
    !OTHER_FILE.test(name) &&
    !directories.some((directory) => NEVER_ENTERED.test(directory))
  );
}

function isWithin(directory: string, skills: ReadonlySet<string>): boolean {
  for (let at = directory; ; at = directoryOf(at)) {
    if (skills.has(at)) return true;
    if (at === "") return false;
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function directoryOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
