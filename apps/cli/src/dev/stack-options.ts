import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { CliError } from "../cli-error.ts";
import { DEMO_PROJECT, HOME, projectAt, stateDirectory } from "../locations.ts";
import { findProject, type Project } from "./project.ts";
import { findSkillRoots } from "./skill-roots.ts";
import type { StackOptions } from "./stack.ts";

/** The options of a stack on the command line; everything has a default. */
export interface StackFlags {
  readonly project?: string;
  /** The project of this repository, for a first look. */
  readonly demo?: true;
  readonly workspace?: string;
  readonly runners?: number;
  readonly processes?: true;
  readonly natsPort?: number;
  readonly redisPort?: number;
  readonly trustProjectSkills?: true;
}

/** Completes the flags. The workspace of a project is its `files/`, if it has that. Throws an error that names a missing directory. */
export async function stackOptions(
  flags: StackFlags,
  project: Project,
  { env, report, launch }: Pick<StackOptions, "env" | "report" | "launch">,
): Promise<StackOptions> {
  const workspace = resolve(flags.workspace ?? (await defaultWorkspace(project.directory)));
  if (!(await isDirectory(workspace))) {
    throw new CliError("directory_missing", `there is no workspace directory ${workspace}`, {
      hint: "name one with --workspace DIR",
    });
  }
  return {
    state: stateDirectory(env, project.directory),
    project,
    skillRoots: await findSkillRoots({
      project: project.directory,
      cwd: process.cwd(),
      home: homedir(),
      env,
      trustFound: flags.trustProjectSkills === true,
    }),
    workspace,
    runners: flags.runners ?? 1,
    apart: flags.processes === true,
    natsPort: flags.natsPort ?? null,
    redisPort: flags.redisPort ?? null,
    env,
    report,
    launch,
  };
}

/** The project to start: the one that is named, or the one around the working directory. Throws an error that names a missing file. */
export async function chosenProject(
  { project, demo }: StackFlags,
  env: NodeJS.ProcessEnv,
): Promise<Project> {
  if (project !== undefined) return findProject(project);
  if (demo === true) return findProject(DEMO_PROJECT);
  const found = projectAt(process.cwd(), env);
  if (found !== null) return findProject(found);
  throw new CliError("no_project", `${process.cwd()} is in no project`, {
    hint: "make one with: yard init my-project && cd my-project && yard dev; or start the demo: yard dev --demo",
  });
}

async function defaultWorkspace(project: string): Promise<string> {
  if (project === DEMO_PROJECT) return HOME;
  const files = join(project, "files");
  return (await isDirectory(files)) ? files : project;
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() === true;
}
