/** The address of Redis: one server, the primary that the Sentinels name, or a cluster by some of its nodes. */
export interface RedisTarget {
  readonly kind: "server" | "sentinel" | "cluster";
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  /** The name of the primary at the Sentinels; null without Sentinels. */
  readonly primary: string | null;
  readonly db: number;
  readonly username: string;
  readonly password: string;
  readonly tls: boolean;
  /** The URL without user and password, for logs and messages. */
  readonly shown: string;
}

const PARTS =
  /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/([A-Za-z][\w.-]*))?(?:\/(\d{0,5}))?$/;
const PORTS = { server: 6_379, cluster: 6_379, sentinel: 26_379 };

/**
 * Reads `redis[s]://[user[:password]@]host[:port][/db]`, `redis[s]+sentinel://[user[:password]@]host[:port][,…]/primary[/db]` and
 * `redis[s]+cluster://[user[:password]@]host[:port][,…]`. User and password are those of Redis. Null for anything else.
 */
export function readRedisUrl(text: string): RedisTarget | null {
  const parts = PARTS.exec(text);
  if (parts === null) return null;
  const [, scheme = "", group = "server", credentials = "", list = "", primary, db = ""] = parts;
  const kind = group as RedisTarget["kind"]; // as the pattern has it
  if ((kind === "sentinel") !== (primary !== undefined)) return null;
  // A cluster has the database 0 alone.
  if (kind === "cluster" && Number(db) !== 0) return null;
  const hosts = list.split(",").map((host) => readHost(host, PORTS[kind]));
  if ((kind === "server" && hosts.length > 1) || !hosts.every((host) => host !== null)) return null;
  // A lone percent sign makes the credentials undecodable.
  if (/%(?![0-9a-f]{2})/i.test(credentials)) return null;
  const colon = credentials.indexOf(":");
  const [username, password] =
    colon === -1 ? [credentials, ""] : [credentials.slice(0, colon), credentials.slice(colon + 1)];
  return {
    kind,
    hosts,
    primary: primary ?? null,
    db: Number(db),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    tls: scheme === "rediss",
    shown: text.replace(/\/\/[^@/]*@/, "//").replace(/\/$/, ""),
  };
}

/** IPv6 addresses are in brackets, as in any URL. */
function readHost(text: string, port: number): { host: string; port: number } | null {
  const url = URL.parse(`http://${text}`);
  if (url === null || url.hostname === "" || url.host === "" || /[/@?#]/.test(text)) return null;
  // The port of HTTP is left out by the parser, but may be meant here.
  const given = /:(\d+)$/.exec(text)?.[1];
  return { host: url.hostname.replaceAll(/^\[|\]$/g, ""), port: Number(given ?? port) };
}
