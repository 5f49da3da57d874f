import { isCommand } from "@switchyard/contracts/registry";
import { COMMAND_QUOTA } from "@switchyard/contracts/stream-names";
import { commandStream, type StreamDefinition, type StreamSource } from "./streams.ts";
import { client, serviceUsers, type BusUser } from "./topology.ts";

// A quota of JetStream belongs to a stream, so the commands of each client come into a stream of its own, from which the work queue takes
// them. See `decisions/036-quotas-of-streams.md`.

const MIB = 1024 * 1024;
/** The queue's room for the commands of services, and for the server's overhead of each message. */
const SERVICES_BYTES = 512 * MIB;
/** Message ids in it belong to one user alone, so no user can make another one's command count as a duplicate. */
const DUPLICATE_WINDOW_MS = 2 * 60_000;

/** The stream that stores the commands of a client, and refuses them when its quota is used up. */
export function commandsOf(user: string): StreamDefinition {
  const nouns = nounsOf(client(user, ""));
  return {
    name: `${commandStream.name}_${user}`,
    description: `Commands of ${user}: its quota of the queue`,
    subjects: nouns.map((noun) => `yard.cmd.${user}.${noun}.>`),
    retention: "limits",
    maxAgeMs: commandStream.maxAgeMs,
    maxBytes: COMMAND_QUOTA.bytes,
    maxMessages: COMMAND_QUOTA.messages,
    maxMessageBytes: commandStream.maxMessageBytes,
    duplicateWindowMs: DUPLICATE_WINDOW_MS,
    discard: "new",
    strays: `yard.cmd.${user}.${nouns[0] ?? ""}.>`,
  };
}

/**
 * The work queue beside the streams of these clients: services alone publish into it, and it has room for all that the clients' quotas
 * allow. Without clients it accepts all users' commands, as on a server without permissions.
 */
export function commandQueueFor(clients: readonly string[]): StreamDefinition {
  if (clients.length === 0) return commandStream;
  // The gateway sends commands of people and programs, so it has a quota as clients have.
  const services = serviceUsers.filter((user) => !hasOwnCommands(user));
  const ofServices = services.flatMap((user) =>
    nounsOf(user).map((noun) => `yard.cmd.${user.name}.${noun}.>`),
  );
  const needed = SERVICES_BYTES + clients.length * COMMAND_QUOTA.bytes;
  return {
    ...commandStream,
    subjects: ofServices,
    maxBytes: Math.max(commandStream.maxBytes, needed),
    sources: [...(commandStream.sources ?? []), ...clients.flatMap((user) => sourcesOf(user))],
  };
}

/** True for a user whose commands come into a stream of its own. */
export function hasOwnCommands(user: BusUser): boolean {
  return user.serves.length === 0 && user.publishes.some(isCommand);
}

function sourcesOf(user: string): StreamSource[] {
  const { name: stream, subjects } = commandsOf(user);
  return subjects.map((subject) => ({ stream, from: subject, to: subject }));
}

function nounsOf({ publishes }: BusUser): string[] {
  const names = publishes.filter(isCommand).map(({ name }) => name);
  return [...new Set(names.map((name) => name.split(".")[0] ?? ""))].toSorted();
}
