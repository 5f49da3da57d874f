import { delimiter, dirname, join } from "node:path";

/** Where people keep what opens other doors, and what coding agents keep of their own. */
const OF_HOME =
  ".ssh .aws .azure .config .docker .gnupg .kube .netrc .npmrc .pypirc .git-credentials .claude .claude.json .codex .gemini .local/share/keyrings .local/share/opencode .local/state/switchyard".split(
    " ",
  );
/** Sockets of services that act with more rights than their caller. */
const OF_MACHINE =
  "/run/docker.sock /run/containerd /run/podman /run/dbus /run/systemd/private /run/user".split(
    " ",
  );

/** A directory that is everybody's: of a key in it only the file is private. */
const SHARED = new Set(
  "/ /etc /home /media /mnt /opt /root /run /run/secrets /srv /tmp /usr /usr/local /var /var/run".split(
    " ",
  ),
);

/** What a program that a service starts is not to see of the service and of the person whose machine it is. */
export interface PrivatePaths {
  /** Keys, passwords and other files of the service's own, and what lies beside its keys. */
  readonly secret: string[];
  /** Usual places of credentials; a program may need one of them. */
  readonly personal: string[];
}

/**
 * From the environment of the service: each variable `YARD_…_FILE` names a file of its own, and `YARD_PRIVATE_PATHS` more
 * paths, with the separator of PATH, that `yard dev` has its keys and data in.
 */
export function privatePaths(
  env: Readonly<Record<string, string | undefined>>,
  home: string,
): PrivatePaths {
  const files = Object.entries(env).flatMap(([name, path = ""]) => {
    if (path === "" || !/^YARD_.*_FILE$/.test(name)) return [];
    return [isOfKey(name) ? besideOf(path) : path];
  });
  const named = (env["YARD_PRIVATE_PATHS"] ?? "").split(delimiter).filter((path) => path !== "");
  return {
    secret: [...files, ...named],
    personal: [...OF_HOME.map((name) => join(home, name)), ...OF_MACHINE],
  };
}

function isOfKey(name: string): boolean {
  return /_(?:NKEY|PASSWORD|KEY|TOKEN|SECRETS)_FILE$/.test(name);
}

/** Keys of other services lie in the same directory, unless that is one of the system's. */
function besideOf(path: string): string {
  const directory = dirname(path);
  return SHARED.has(directory) ? path : directory;
}
