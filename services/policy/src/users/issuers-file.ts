import { readFile } from "node:fs/promises";
import { CallerName } from "@switchyard/contracts/ids";
import { OIDC_PREFIX } from "@switchyard/contracts/user-names";
import { UserRole } from "@switchyard/contracts/user-roles";
import { StartError } from "@switchyard/service/start-error";
import { z } from "zod";
import { problemLine, readYaml, type Checked } from "@switchyard/service/yaml-file";

/** An issuer whose tokens are accepted, and the mapping of its subjects to callers. */
const Issuer = z
  .strictObject({
    /** Must equal the tokens' `iss` exactly. */
    issuer: z.url(),
    /** Must be in the tokens' `aud`: it identifies this installation. A token for another audience is refused. */
    audience: z.string().min(1),
    /** The gateway's client id at the issuer: ID tokens for it open sessions of people, and are accepted nowhere else. */
    clientId: z.string().min(1).optional(),
    /** The issuer's public keys, a JWK set. */
    jwksUri: z.string().refine(isSafeUrl, "must be an https URL, or http on loopback"),
    /** Never a shared secret, and never `none`. */
    algorithms: z
      .array(
        z.enum(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]),
      )
      .min(1)
      .default(["RS256", "PS256", "ES256", "EdDSA"]),
    /** The required `typ` header of tokens, such as `at+jwt`; without it any type is accepted. */
    type: z.string().optional(),
    caller: z
      .strictObject({
        /** A claim that the provider assigns and people cannot change for themselves. */
        claim: z.string().default("sub"),
        /** The prefix of the claim. Every prefix begins with `oidc-`, as no NATS user does, so no name at the issuer can equal a team's. */
        prefix: z
          .string()
          .regex(
            /^oidc-(?:[a-z0-9]{1,6}-)?$/,
            "must be oidc-, or oidc- and 1-6 characters of a-z 0-9 and a -, such as oidc-acme-",
          )
          .default(OIDC_PREFIX),
        /** Callers with a different name here, such as a NATS user's, by their claim. */
        names: z.record(z.string(), CallerName).default({}),
      })
      .prefault({}),
    roles: z
      .strictObject({
        claim: z.string().default("roles"),
        /** Roles by value of the claim; a value that is not listed gives none. */
        values: z.record(z.string(), z.array(UserRole)).default({}),
        /** The roles of every user of the issuer. */
        everybody: z.array(UserRole).default([]),
      })
      .prefault({}),
  })
  // Otherwise an ID token, with which a person signs in, would be accepted from programs, too.
  .refine(({ audience, clientId }) => audience !== clientId, {
    path: ["clientId"],
    message: "must not be the audience",
  });
export type Issuer = z.infer<typeof Issuer>;

const IssuersFile = z.strictObject({
  issuers: z
    .array(Issuer)
    .min(1)
    .max(16)
    // Otherwise a person of one issuer could equal one of another.
    .refine(
      (issuers) => new Set(issuers.map(({ caller }) => caller.prefix)).size === issuers.length,
      {
        error: "each issuer needs a caller.prefix of its own, such as oidc-acme-",
      },
    ),
});

/** Throws a StartError that names the line of the mistake. */
export async function readIssuers(path: string): Promise<readonly Issuer[]> {
  const hint = "let YARD_ISSUERS_FILE name a YAML file as in decisions/041-callers-over-http.md";
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new StartError(`YARD_ISSUERS_FILE: cannot read ${path}`, { hint, cause });
  });
  const read = readYaml(text, checked);
  if (read.value !== null) return read.value.issuers;
  const lines = read.problems.map((problem) => problemLine(path, problem));
  throw new StartError(`YARD_ISSUERS_FILE: ${lines.join("; ")}`, { hint });
}

function checked(content: unknown): Checked<z.infer<typeof IssuersFile>> {
  const parsed = IssuersFile.safeParse(content);
  return parsed.success
    ? { value: parsed.data, problems: [] }
    : { value: null, problems: parsed.error.issues };
}

function isSafeUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null) return false;
  const isLoopback = ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname);
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback);
}
