/** The part of a browser that signing in needs: cookies by name, redirects within a limit, forms. */
export class Browser {
  /** Cookies by host and name. */
  readonly cookies = new Map<string, { value: string; attributes: string }>();

  async send(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const { host } = new URL(url);
    const headers = new Headers(init.headers);
    const mine = [...this.cookies].filter(([key]) => key.startsWith(`${host} `));
    if (mine.length > 0)
      headers.set(
        "cookie",
        mine.map(([key, { value }]) => `${key.slice(host.length + 1)}=${value}`).join("; "),
      );
    const response = await fetch(url, {
      ...init,
      headers,
      redirect: "manual",
      signal: AbortSignal.timeout(30_000),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = "", attributes = ""] = /^([^=]+)=([^;]*)(.*)$/.exec(line) ?? [];
      if (value === "" || /max-age=0/i.test(attributes)) this.cookies.delete(`${host} ${name}`);
      else this.cookies.set(`${host} ${name}`, { value, attributes });
    }
    return response;
  }

  /** Follows redirects until there are none, or until one leads to `stopAt`, which is not requested. */
  async go(url: string | URL, stopAt = "none"): Promise<{ response: Response; url: URL }> {
    let at = new URL(url);
    let response = await this.send(at);
    for (let hop = 0; hop < 10; hop += 1) {
      const location = response.headers.get("location");
      if (location === null) break;
      at = new URL(location, at);
      if (at.href.startsWith(stopAt)) break;
      response = await this.send(at);
    }
    return { response, url: at };
  }
}
