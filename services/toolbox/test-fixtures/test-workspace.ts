import { testDirectory } from "@switchyard/testing/test-servers";
import { mkdir, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { z } from "zod";
import type { Tool, ToolContext, ToolResult } from "../src/tool.ts";
import { openWorkspace, type SecurityMode } from "../src/workspace/workspace.ts";

export interface TestWorkspace {
  /** The workspace. */
  readonly root: string;
  /** A directory beside it that must not be reached. */
  readonly outside: string;
  readonly context: ToolContext;
  readonly put: (path: string, content: string | Uint8Array) => Promise<void>;
  /** Calls a tool as the service does: arguments through its schema. */
  readonly run: <I extends z.ZodObject>(tool: Tool<I>, args: z.input<I>) => Promise<ToolResult>;
}

/** A workspace in a directory that is gone after the tests of the file. Call it at the top of a test file. */
export async function testWorkspace(
  mode: SecurityMode = "limited-control",
): Promise<TestWorkspace> {
  const directory = await realpath(await testDirectory());
  const [root, outside] = [join(directory, "workspace"), join(directory, "outside")];
  await Promise.all([mkdir(root), mkdir(outside)]);
  await writeFile(join(outside, "secret.txt"), "top secret");
  const workspace = await openWorkspace(root, mode);
  const context: ToolContext = {
    workspace,
    caller: "cli",
    runId: null,
    session: null,
    chat: null,
    sender: null,
    userToken: undefined,
    correlationId: "test",
    callId: undefined,
    memory: { agent: "tester", owner: "cli" },
    denialOf: async () => null,
    attachmentDenial: async () => null,
    workspaceOfNewRun: async () => workspace,
    timeLeftMs: 600_000,
    signal: new AbortController().signal,
  };
  return {
    root,
    outside,
    context,
    async put(path, content) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), content);
    },
    run: (tool, args) => tool.run(tool.input.parse(args), context),
  };
}
