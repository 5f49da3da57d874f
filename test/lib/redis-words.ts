import { connect } from "node:net";

/** The login at Redis; null is a client without credentials. */
export interface RedisSpeaker {
  readonly user: string;
  readonly password: string;
}

/**
 * Sends commands sequentially on one connection and returns the raw answers, without the one to the login. No client library: the
 * test is about what the server permits.
 */
export async function redisWords(
  url: string,
  speaker: RedisSpeaker | null,
  commands: readonly (readonly string[])[],
): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setEncoding("utf8");
  const login = speaker === null ? [] : [["AUTH", speaker.user, speaker.password]];
  for (const command of [...login, ...commands, ["QUIT"]]) {
    const words = command.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    socket.write(`*${command.length}\r\n${words.join("")}`);
  }
  let received = "";
  for await (const chunk of socket) received += String(chunk);
  if (speaker !== null && !received.startsWith("+OK\r\n"))
    throw new Error(`Redis refused ${speaker.user}: ${received}`);
  const answers = speaker === null ? received : received.slice("+OK\r\n".length);
  return answers.slice(0, answers.lastIndexOf("+OK\r\n"));
}
