import type { BuiltinName } from "@switchyard/contracts/toolbox/toolbox";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { MemoryStore } from "../memory/memory-store.ts";
import type { Tool } from "../tool.ts";
import { createCronTools } from "../platform/cron-tools.ts";
import { createGatewayTools } from "../platform/gateway-tools.ts";
import type { Restarts } from "../platform/restarts.ts";
import { createMessageTools } from "../platform/message-tools.ts";
import { createSessionTools } from "../platform/session-tools.ts";
import { createSendTool } from "../platform/send-tool.ts";
import { createSpawnTool } from "../platform/spawn-tool.ts";
import { createSubagentsTool } from "../platform/subagents-tool.ts";
import type { AccessParts } from "../platform/session-access.ts";
import { editFile } from "./edit-file.ts";
import { createExecuteCommand, type CommandOptions } from "./execute-command.ts";
import { listFiles } from "./list-files.ts";
import { createMemoryTools } from "./memory-tools.ts";
import { readFile } from "./read-file.ts";
import { searchFiles } from "./search-files.ts";
import { createWebFetch } from "./web-fetch.ts";
import { writeFile } from "./write-file.ts";

export interface BuiltinOptions {
  readonly memory: MemoryStore;
  readonly guard: EgressGuard;
  readonly access: AccessParts;
  readonly command: CommandOptions;
  /** The directory of the project's configuration files; undefined: none that the toolbox sees. */
  readonly configDirectory: string | undefined;
  readonly restarts: { readonly restarts: Restarts; readonly isPermitted: boolean };
}

/** All built-in tools by name, in the order in which they are listed. */
export function createBuiltins({
  memory,
  guard,
  command,
  access,
  configDirectory,
  restarts,
}: BuiltinOptions): ReadonlyMap<BuiltinName, Tool> {
  const { asCaller } = access;
  // Each is a Tool of its own arguments.
  const speaking = [
    createSendTool(access),
    createSpawnTool(access),
    createSubagentsTool(access, Date.now),
  ] as readonly Tool[];
  const tools: readonly Tool[] = [
    readFile,
    listFiles,
    searchFiles,
    writeFile,
    editFile,
    createExecuteCommand(command),
    createWebFetch(guard),
    ...createMemoryTools(memory),
    ...createSessionTools(access),
    ...speaking,
    ...createMessageTools(access),
    ...createCronTools(asCaller),
    ...createGatewayTools({
      directory: configDirectory,
      settings: access.settings,
      restarts: restarts.restarts,
      isRestartPermitted: restarts.isPermitted,
    }),
  ];
  return new Map(tools.map((tool) => [tool.name, tool]));
}
