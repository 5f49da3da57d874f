/** A place in an S3-compatible store, as `YARD_RUN_ARCHIVE_URL` names it. */
export interface S3Location {
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
