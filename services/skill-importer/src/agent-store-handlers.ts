import type { Service } from "@switchyard/bus/serve";
import { agentPaths } from "@switchyard/contracts/agent-paths";
import {
  listAgentVersions,
  removeAgent,
  unpackAgents,
  uploadAgents,
} from "@switchyard/contracts/agent-store";
import { ArchiveError, unpackArchive } from "./source/archive.ts";
import { bytesOfSent, MAX_UPLOAD_BYTES, requireAdmin, sentBytes } from "./store-handlers.ts";
import { removeAgent as remove } from "./store/change-agent.ts";
import { uploadAgents as upload, type UploadAgentsParts } from "./upload/upload-agents.ts";

export interface AgentStoreParts {
  readonly agents: UploadAgentsParts;
  /** NATS users that may change what is imported. */
  readonly admins: readonly string[];
}

const MAX_KNOWN = 50;

/** Answers what clients bring in of agents, and take away. */
export function serveAgentStore(service: Service, parts: AgentStoreParts): void {
  serveUploads(service, parts);
  serveVersions(service, parts);
}

function serveUploads(service: Service, { agents, admins }: AgentStoreParts): void {
  service.handle(uploadAgents, async (request, context) => {
    const { caller, fail } = context;
    const { label, git, dryRun } = request;
    if (!dryRun) requireAdmin(context, admins);
    const sizeBytes = sentBytes(request);
    if (sizeBytes > MAX_UPLOAD_BYTES) {
      throw fail.upload_too_large(
        `the files have ${sizeBytes} bytes, at most ${MAX_UPLOAD_BYTES} may come at once; send them in several calls`,
        { sizeBytes, maxBytes: MAX_UPLOAD_BYTES },
      );
    }
    const files = request.files.map((file) => ({ path: file.path, bytes: bytesOfSent(file) }));
    const provenance = { source: "upload" as const, label, by: caller, git };
    return upload(agents, { files, findings: [], provenance, dryRun });
  });

  service.handle(unpackAgents, async (request, context) => {
    const { caller, fail } = context;
    const { label, git, dryRun, format, base64 } = request;
    if (!dryRun) requireAdmin(context, admins);
    try {
      const unpacked = await unpackArchive(Buffer.from(base64, "base64"), format);
      const files = agentPaths([...unpacked.files.keys()]).flatMap((path) => {
        const bytes = unpacked.files.get(path);
        return bytes === undefined ? [] : [{ path, bytes }];
      });
      const provenance = { source: "archive" as const, label, by: caller, git };
      return await upload(agents, { files, findings: unpacked.findings, provenance, dryRun });
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      const { message, reason, entry } = error;
      throw fail.archive_refused(`${label}: ${message}`, { reason, entry });
    }
  });
}

function serveVersions(service: Service, { agents, admins }: AgentStoreParts): void {
  const { store, versions } = agents;

  service.handle(listAgentVersions, async ({ name }, { fail }) => {
    const [all, { listed }] = await Promise.all([versions.list(name), store.loadAgents([name])]);
    if (all.length === 0 && listed.length === 0) {
      throw fail.unknown_agent(unknown(name), { name, known: await knownNames(agents) });
    }
    return { current: listed[0]?.summary.digest ?? null, versions: all };
  });

  service.handle(removeAgent, async ({ name }, context) => {
    requireAdmin(context, admins);
    const { fail } = context;
    const result = await remove(agents, name);
    switch (result.kind) {
      case "removed":
        return { name, digest: result.digest, current: result.current };
      case "managed-by-files":
        throw fail.managed_by_files(
          `${name} is what ${result.file} on the importer's roots says; change or delete that file`,
          { name, file: result.file },
        );
      case "built-in":
        throw fail.built_in_agent(
          `${name} comes with the importer; import an agent of that name to take its place`,
          { name },
        );
      case "unknown":
        throw fail.unknown_agent(unknown(name), { name, known: await knownNames(agents) });
      default:
        return result satisfies never;
    }
  });
}

async function knownNames({ store }: UploadAgentsParts): Promise<string[]> {
  return (await store.listAgents()).slice(0, MAX_KNOWN).map(({ summary }) => summary.name);
}

function unknown(name: string): string {
  return `agent '${name}' not found; see the available ones with: yard agents list`;
}
