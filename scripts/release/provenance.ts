import { execFile } from "node:child_process";
import { sign, type KeyObject } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { sha256Of } from "./checksums.ts";
import { keyId } from "./minisign.ts";

interface Subject {
  readonly name: string;
  readonly digest: { readonly sha256: string };
}

interface Dependency {
  readonly uri: string;
  readonly digest: Readonly<Record<string, string>>;
}

/** An in-toto statement, https://in-toto.io/Statement/v1, with the provenance of https://slsa.dev/spec/v1.0/provenance. */
export interface Provenance {
  readonly _type: "https://in-toto.io/Statement/v1";
  readonly subject: readonly Subject[];
  readonly predicateType: "https://slsa.dev/provenance/v1";
  readonly predicate: {
    readonly buildDefinition: {
      readonly buildType: string;
      readonly externalParameters: Readonly<Record<string, string>>;
      readonly internalParameters: { readonly uncommittedChanges: boolean };
      readonly resolvedDependencies: readonly Dependency[];
    };
    readonly runDetails: {
      readonly builder: { readonly id: string; readonly version: Readonly<Record<string, string>> };
      readonly metadata: { readonly startedOn: string; readonly finishedOn: string };
    };
  };
}

const PAYLOAD_TYPE = "application/vnd.in-toto+json";

/** States what was built from which commit and lock file. Rejects outside of a Git repository, where no commit can be named. */
export async function provenanceOf(build: {
  root: string;
  startedAt: Date;
  parameters: Readonly<Record<string, string>>;
  subject: readonly Subject[];
  /** The image of Node.js below the images, by digest; null: no images were built. */
  base: string | null;
}): Promise<Provenance> {
  const { root, startedAt, parameters, subject, base } = build;
  const commit = await git(root, ["rev-parse", "HEAD"]);
  const changes = await git(root, ["status", "--porcelain"]);
  const [baseName, baseDigest = ""] = base?.split("@sha256:") ?? [];
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject,
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "urn:switchyard:release:1",
        externalParameters: parameters,
        internalParameters: { uncommittedChanges: changes !== "" },
        resolvedDependencies: [
          { uri: "urn:switchyard:source", digest: { gitCommit: commit } },
          {
            uri: "urn:switchyard:source:package-lock.json",
            digest: { sha256: await sha256Of(join(root, "package-lock.json")) },
          },
          ...(baseName === undefined
            ? []
            : [{ uri: `oci://${baseName}`, digest: { sha256: baseDigest } }]),
        ],
      },
      runDetails: {
        builder: { id: "urn:switchyard:release.ts", version: { node: process.version } },
        metadata: { startedOn: startedAt.toISOString(), finishedOn: new Date().toISOString() },
      },
    },
  };
}

/** Signs a statement as a DSSE envelope, https://github.com/secure-systems-lab/dsse: one line of JSON. */
export function signedEnvelope(statement: Provenance, key: KeyObject): string {
  const body = JSON.stringify(statement);
  const length = Buffer.byteLength(body);
  const signed = `DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${length} ${body}`;
  const sig = sign(null, Buffer.from(signed), key).toString("base64");
  const payload = Buffer.from(body).toString("base64");
  const signatures = [{ keyid: keyId(key), sig }];
  return `${JSON.stringify({ payloadType: PAYLOAD_TYPE, payload, signatures })}\n`;
}

async function git(cwd: string, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)("git", args, { cwd })).stdout.trim();
  } catch (cause) {
    throw new Error("the commit is not known: build a release in a clone of the repository", {
      cause,
    });
  }
}
