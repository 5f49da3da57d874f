import { addAbortSignal, Readable } from "node:stream";
import type { S3ClientConfig } from "@aws-sdk/client-s3";
import { constant } from "@switchyard/service/constant";
import type { Environment } from "@switchyard/service/env";
import { StoreError } from "@switchyard/service/store-error";
import type { ForeignObjects } from "./archive-objects.ts";

/**
 * Objects in an S3-compatible store. The keys are those of the environment, or what the client finds in AWS's own files and from the role of the machine or
 * pod. The client is loaded with the first object, so that an installation without one does not have it in memory.
 */
export function openS3Objects(location: S3Location, env: Environment): ForeignObjects {
  const { bucket: Bucket, prefix } = location;
  const requestMs = constant("archiveRequestMs", 20_000);
  let loading: ReturnType<typeof load> | undefined;
  /** Makes one request, which has a deadline with its retries and with the bytes of its reply. */
  const request = async <T>(
    work: (s3: Loaded, about: { Bucket: string }, abortSignal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const abortSignal = AbortSignal.timeout(requestMs);
    try {
      loading ??= load(location, env);
      return await work(await loading, { Bucket }, abortSignal);
    } catch (error) {
      const why = abortSignal.aborted
        ? `it has not replied within ${requestMs} ms: see whether it is overloaded`
        : reasonOf(error, location);
      throw new StoreError(`the archive of runs at ${nameOf(location)} cannot be used: ${why}`, {
        cause: error,
      });
    }
  };
  return {
    put: (name, bytes) =>
      request(async ({ client, PutObjectCommand }, about, abortSignal) => {
        const object = { ...about, Key: prefix + name, Body: bytes, ContentLength: bytes.length };
        await client.send(new PutObjectCommand(object), { abortSignal });
      }),

    get: (name, sizeBytes) =>
      request(async ({ client, GetObjectCommand }, about, abortSignal) => {
        try {
          const command = new GetObjectCommand({ ...about, Key: prefix + name });
          const { Body } = await client.send(command, { abortSignal });
          return await bytesOf(Body, { name, sizeBytes, abortSignal });
        } catch (error) {
          if (error instanceof Error && error.name === "NoSuchKey") return null;
          throw error;
        }
      }),

    delete: (name) =>
      request(async ({ client, DeleteObjectCommand }, about, abortSignal) => {
        await client.send(new DeleteObjectCommand({ ...about, Key: prefix + name }), {
          abortSignal,
        });
      }),
  };
}

type Loaded = Awaited<ReturnType<typeof load>>;

async function load({ region, endpoint }: S3Location, env: Environment) {
  const { S3Client, ...commands } = await import("@aws-sdk/client-s3");
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  const { AWS_SESSION_TOKEN: sessionToken } = env;
  const config: S3ClientConfig = {
    maxAttempts: 2,
    // Stores other than Amazon's need not know the newer checksums; the archive has a digest of its own.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: { connectionTimeout: 5_000 },
  };
  if (endpoint !== undefined) Object.assign(config, { endpoint, forcePathStyle: true });
  // Stores of one region do not care which one a request names.
  const named = region ?? (endpoint === undefined ? undefined : DEFAULT_REGION);
  if (named !== undefined) config.region = named;
  // A process removes secrets from its environment, where the client looks for them.
  if (accessKeyId && secretAccessKey)
    config.credentials = {
      accessKeyId,
      secretAccessKey,
      ...(sessionToken ? { sessionToken } : {}),
    };
  return { client: new S3Client(config), ...commands };
}

const DEFAULT_REGION = "us-east-1";

async function bytesOf(
  body: unknown,
  about: { name: string; sizeBytes: number; abortSignal: AbortSignal },
): Promise<Buffer> {
  if (!(body instanceof Readable)) throw new TypeError("the reply has no body");
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of addAbortSignal(about.abortSignal, body)) {
    parts.push(part);
    size += part.length;
    if (size > about.sizeBytes)
      throw new Error(`${about.name} has more than ${about.sizeBytes} bytes`);
  }
  return Buffer.concat(parts);
}

function nameOf({ bucket, prefix, endpoint }: S3Location): string {
  return `s3://${bucket}/${prefix}${endpoint === undefined ? "" : ` of ${endpoint}`}`;
}

/** The codes of S3 (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html) and the errors of its client, and what to do. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^(NoSuchBucket|InvalidBucketName)$/, "there is no such bucket: create it, or correct the URL"],
  [
    /^(InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|InvalidClientTokenId)$/,
    "it refuses the keys: correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
  ],
  [
    /^(AccessDenied|AllAccessDisabled|Forbidden)$/,
    "the keys may not do this: they need s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket",
  ],
  [
    /^CredentialsProviderError$/,
    "there are no keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the runner a role",
  ],
  [
    /^(PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraintException)$/,
    "the bucket is in another region: name its region in the URL",
  ],
  [
    /^E[A-Z_]+$/,
    "it cannot be reached: see whether it runs, and whether the endpoint and the network lead to it",
  ],
];

function reasonOf(error: unknown, { region }: S3Location): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error && typeof error.code === "string" ? error.code : error.name;
  if (error.message === "Region is missing" && region === undefined)
    return "no region is named: set region in the URL, or AWS_REGION";
  const [, advice = null] = REASONS.find(([names]) => names.test(code)) ?? [];
  const detail = `${code}${error.message === "" ? "" : `, ${error.message}`}`;
  return advice === null ? detail : `${advice} (${detail})`;
}

/** A place in an S3-compatible store, as `YARD_RUN_ARCHIVE_URL` names it. */
interface S3Location {
  readonly bucket: string;
  /** Empty, or ending in a slash. */
  readonly prefix: string;
  /** Undefined: the region of AWS's own variables and files. */
  readonly region: string | undefined;
  /** The address of a store other than Amazon's. */
  readonly endpoint: string | undefined;
}

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[A-Za-z0-9!_.*'()/-]{0,512}$/;
const PARAMETERS: ReadonlySet<string> = new Set(["region", "endpoint"]);

/** Reads a URL like `s3://bucket/prefix?region=eu-central-1&endpoint=https://s3.example.com`; null when it is none. Keys never are in it. */
export function readS3Url(text: string): S3Location | null {
  const url = URL.parse(text);
  if (url?.protocol !== "s3:" || url.username !== "" || url.password !== "" || url.hash !== "")
    return null;
  // The host of a URL with a port is no bucket's name.
  const { host: bucket, searchParams } = url;
  const folder = url.pathname.replace(/^\/+|\/+$/g, "");
  if (!BUCKET.test(bucket) || !PREFIX.test(folder)) return null;
  if ([...searchParams.keys()].some((name) => !PARAMETERS.has(name))) return null;
  const region = searchParams.get("region") ?? undefined;
  const endpoint = searchParams.get("endpoint") ?? undefined;
  if (region === "" || (endpoint !== undefined && !isWebAddress(endpoint))) return null;
  return { bucket, prefix: folder === "" ? "" : `${folder}/`, region, endpoint };
}

function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return false;
  return url.username === "" && url.password === "" && url.search === "" && url.hash === "";
}
