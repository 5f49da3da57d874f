import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { CliError } from "../cli-error.ts";
import { HOME, stateDirectory } from "../locations.ts";
import { findProject } from "./project.ts";
import { findSkillRoots } from "./skill-roots.ts";
import type { StackReport } from "./stack-report.ts";
import type { StackOptions } from "./stack.ts";

/** The options of a stack on the command line; everything has a default. */
export interface StackFlags {
  readonly project?: string;
  readonly workspace?: string;
  readonly runners?: number;
  readonly processes?: true;
  readonly natsPort?: number;
  readonly redisPort?: number;
  readonly trustProjectSkills?: true;
}

/** Completes the flags. Throws an error that names a missing directory or file. */
export async function stackOptions(
  flags: StackFlags,
  env: NodeJS.ProcessEnv,
  report: StackReport,
): Promise<StackOptions> {
  const workspace = resolve(flags.workspace ?? HOME);
  if ((await stat(workspace).catch(() => null))?.isDirectory() !== true) {
    throw new CliError("directory_missing", `there is no workspace directory ${workspace}`, {
      hint: "name one with --workspace DIR",
    });
  }
  const project = await findProject(flags.project ?? join(HOME, "examples"));
  return {
    state: stateDirectory(env),
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
  };
}
