import { hash } from "node:crypto";
import type { FastifyInstance, FastifyReply } from "fastify";
import { createDocument, type DocumentOptions } from "../gateway/openapi/document.ts";
import { isObject } from "../is-object.ts";
import { escapeHtml } from "../messages/message.ts";
import {
  type Link,
  START_TEXTS,
  type StartPage,
  type StartState,
  startHtml,
} from "./start-page.ts";

export interface OpenApiOptions {
  /** Input of the document; created at its first use. */
  readonly document: () => DocumentOptions;
  /** Name and version, for the first page. */
  readonly name: string;
  readonly description: string;
  /** State of the service, for the first page. Default: none. */
  readonly state?: () => Promise<StartState>;
  /** Links on the first page; the first one is the next step. */
  readonly links?: readonly Link[];
  /** Language of the first page for a header Accept-Language. Default: English. */
  readonly spoken?: (acceptLanguage: string | undefined) => StartPage["spoken"];
  /** Rejects requests without access to the contract, by the header `authorization`. */
  readonly check?: ((authorization: string | undefined) => Promise<void>) | undefined;
  /** Also serve `/openapi.json` and `/reference`. Default true. */
  readonly contract?: boolean;
}

/**
 * Fastify plugin that serves a start page at `/`, the OpenAPI document at `/openapi.json` and a reference
 * at `/reference`, without scripts and foreign requests.
 */
export async function openApiPlugin(
  fastify: FastifyInstance,
  options: OpenApiOptions,
): Promise<void> {
  const { check, contract = true, name, description, links = [], state } = options;
  const { spoken = () => ({ language: "en", translate: (text: string) => text }) } = options;
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${hash("sha256", STYLE, "base64")}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  const sendPage = (reply: FastifyReply, html: string): FastifyReply =>
    reply
      .headers({
        "cache-control": "no-cache",
        "content-security-policy": policy,
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
      })
      .type("text/html; charset=utf-8")
      .send(html);
  const own = contract
    ? [
        { href: "reference", text: START_TEXTS.reference },
        { href: "openapi.json", text: START_TEXTS.openapi },
      ]
    : [];
  fastify.get("/", async ({ headers }, reply) => {
    const said = spoken(headers["accept-language"]);
    const start = { name, description, links, contract: own, state: await state?.(), spoken: said };
    reply.headers({ "content-language": said.language, vary: "Accept-Language" });
    return sendPage(reply, page(name, startHtml(start), said.language));
  });
  if (!contract) return;
  const made = once(() => {
    const document = createDocument(options.document());
    return { json: JSON.stringify(document), html: createReference(document) };
  });
  await fastify.register(async (closed) => {
    if (check) closed.addHook("onRequest", ({ headers }) => check(headers.authorization));
    closed.get("/openapi.json", (_request, reply) =>
      reply
        .headers({ "cache-control": "no-cache", "x-content-type-options": "nosniff" })
        .type("application/json; charset=utf-8")
        .send(made().json),
    );
    closed.get("/reference", (_request, reply) => sendPage(reply, made().html));
  });
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Style of all generated pages, in the colours of the console. The policy allows it by its hash. */
const STYLE = `
:root{color-scheme:light dark;--ground:light-dark(#f7f8f8,#14171a);--surface:light-dark(#fff,#1b1f23);--text:light-dark(#1a1f24,#e4e8eb);--line:light-dark(#dde1e4,#2d333a);--soft:light-dark(#eff1f2,#101215);--link:light-dark(#0b5f7c,#6cc3e3);--on-link:light-dark(#fff,#07222d);--good:light-dark(#17653a,#7bd09c);--bad:light-dark(#80500a,#e4b869)}
body{background:var(--ground);color:var(--text);font:16px/1.55 system-ui,sans-serif;margin:0 auto;max-width:60rem;padding:1.5rem}
.start{background:var(--surface);border:1px solid var(--line);border-radius:6px;margin:8vh auto 0;max-width:34rem;padding:2rem}
.start h1{align-items:center;display:flex;flex-wrap:wrap;font-size:1.6rem;gap:.6rem}.start h2{border:0;font-size:1rem;margin:2rem 0 0}.start ul{padding-left:1.2rem}
.start svg{fill:none;height:1.9rem;stroke:var(--link);stroke-linecap:round;stroke-linejoin:round;stroke-width:2;width:1.9rem}
.state{font-weight:600}.state::before{background:currentcolor;border-radius:50%;content:"";display:inline-block;height:.6rem;margin-right:.5rem;width:.6rem}.good{color:var(--good)}.bad{color:var(--bad)}
.links a{border:1px solid var(--line);border-radius:6px;display:inline-block;margin:.2rem .3rem .2rem 0;padding:.45rem 1rem;text-decoration:none}.links a:first-child{background:var(--link);border-color:var(--link);color:var(--on-link)}
a{color:var(--link)}h1{margin-top:0}h2{border-bottom:1px solid var(--line);margin-top:3rem;padding-bottom:.3rem}
h3{margin:2.5rem 0 .5rem}code,pre{font:14px/1.45 ui-monospace,monospace}
code{background:var(--soft);border-radius:3px;padding:.1em .3em;overflow-wrap:anywhere}
pre{background:var(--soft);border-radius:6px;overflow:auto;padding:.8rem 1rem}pre code{padding:0}
table{border-collapse:collapse;width:100%}th,td{border-bottom:1px solid var(--line);padding:.35rem .6rem .35rem 0;text-align:left;vertical-align:top}
nav ul{columns:18rem;list-style:none;padding:0}p.note{white-space:pre-line}
`;

/** HTML page. @param body HTML. */
function page(title: string, body: string, language = "en"): string {
  const head = [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>${escapeHtml(title)}</title>`,
    `<style>${STYLE}</style>`,
  ];
  return `<!doctype html>\n<html lang="${escapeHtml(language)}"><head>${head.join("")}</head><body>${body}</body></html>\n`;
}

/** The reference of an OpenAPI document as one page without scripts. */
export function createReference(document: unknown): string {
  const { info, paths, tags, components } = objectOf(document);
  const operations = Object.entries(objectOf(paths)).flatMap(([path, item]) =>
    Object.entries(objectOf(item)).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation: objectOf(operation),
    })),
  );
  const sections = listOf(tags).map((tag) => {
    const { name, description } = objectOf(tag);
    const own = operations.filter(({ operation }) =>
      listOf(operation["tags"]).includes(name ?? ""),
    );
    return [
      `<h2 id="${text(name)}">${text(name)}</h2>`,
      note(description),
      ...own.map((one) => operationHtml(one, document)),
    ].join("\n");
  });
  const links = operations.map(
    ({ method, path, operation }) =>
      `<li><a href="#${text(operation["operationId"])}"><code>${method} ${escapeHtml(path)}</code></a></li>`,
  );
  const { title, version, description } = objectOf(info);
  const name = `${String(title)} ${String(version)}`;
  return page(
    name,
    [
      `<h1>${escapeHtml(name)}</h1>`,
      note(description),
      '<p>The same for programs: <a href="openapi.json">openapi.json</a>.</p>',
      `<nav><ul>${links.join("")}</ul></nav>`,
      ...sections,
      ...headersHtml(objectOf(components)),
      `<h2 id="schemas">Schemas</h2>`,
      ...Object.entries(objectOf(objectOf(components)["schemas"])).map(
        ([schema, content]) =>
          `<h3 id="schema-${escapeHtml(schema)}">${escapeHtml(schema)}</h3>\n${schemaHtml(content)}`,
      ),
    ].join("\n"),
  );
}

interface Operation {
  readonly path: string;
  readonly method: string;
  readonly operation: Record<string, unknown>;
}

function operationHtml({ path, method, operation }: Operation, document: unknown): string {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const security = operation["security"] ?? objectOf(document)["security"];
  const token = listOf(security).length > 0 ? "Needs the token." : "Needs no token.";
  return [
    `<h3 id="${text(operationId)}">${text(summary)}</h3>`,
    `<p><code>${method} ${escapeHtml(path)}</code> — ${token}</p>`,
    note(description),
    // Common headers are at the end of the page.
    parameterTable(
      listOf(parameters)
        .map(objectOf)
        .filter(({ $ref }) => $ref === undefined),
    ),
    bodyHtml(objectOf(requestBody)),
    `<p>Reply: ${replyHtml(objectOf(responses))}</p>`,
    `<pre><code>${escapeHtml(curl({ path, method, operation }, listOf(security).length > 0))}</code></pre>`,
  ].join("\n");
}

/** Headers of calls and replies that all operations share. */
function headersHtml({ parameters, headers }: Record<string, unknown>): string[] {
  const replies = Object.entries(objectOf(headers)).map(([name, header]) => ({
    ...objectOf(header),
    name,
    in: "reply",
  }));
  const calls = Object.values(objectOf(parameters)).map((one) => ({
    ...objectOf(one),
    in: "request",
  }));
  if (replies.length === 0) return [];
  return ['<h2 id="headers">Headers</h2>', parameterTable([...calls, ...replies])];
}

function parameterTable(parameters: readonly Record<string, unknown>[]): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map(
    ({ name, in: place, description, schema }) =>
      `<tr><td><code>${text(name)}</code></td><td>${text(place)}</td><td>${typeHtml(schema)}</td><td>${text(description)}</td></tr>`,
  );
  return `<table><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr>${rows.join("")}</table>`;
}

function bodyHtml(body: Record<string, unknown>): string {
  const { schema } = objectOf(objectOf(body["content"])["application/json"]);
  return schema === undefined ? "" : `<p>Body: ${typeHtml(schema)}</p>`;
}

function replyHtml(responses: Record<string, unknown>): string {
  const [content] = Object.values(objectOf(objectOf(responses["200"])["content"])).map(objectOf);
  const schema = objectOf(content?.["schema"]);
  const [success = {}] = [...listOf(schema["anyOf"]).map(objectOf), schema];
  const { data } = objectOf(success["properties"]);
  if (data !== undefined) return `the envelope with <code>data</code>: ${typeHtml(data)}`;
  const inside = schema["contentSchema"];
  return inside === undefined ? typeHtml(schema) : `events, each ${typeHtml(inside)}`;
}

/** A type in a few words, with links to schemas. */
function typeHtml(schema: unknown): string {
  const { $ref, type, items, additionalProperties, anyOf, format } = objectOf(schema);
  if (typeof $ref === "string") {
    const name = escapeHtml($ref.slice($ref.lastIndexOf("/") + 1));
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (Array.isArray(anyOf)) return anyOf.map(typeHtml).join(" or ");
  if (type === "array") return `list of ${typeHtml(items)}`;
  if (type === "object" && typeof additionalProperties === "object")
    return `map of ${typeHtml(additionalProperties)}`;
  const types = Array.isArray(type) ? type.map(String).join(" or ") : String(type ?? "any");
  return escapeHtml(typeof format === "string" ? `${types} (${format})` : types);
}

function schemaHtml(schema: unknown): string {
  const { description, properties, enum: values } = objectOf(schema);
  const rows = Object.entries(objectOf(properties)).map(
    ([name, member]) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${typeHtml(member)}</td><td><p class="note">${text(objectOf(member)["description"])}</p></td></tr>`,
  );
  const table = `<table><tr><th>Member</th><th>Type</th><th></th></tr>${rows.join("")}</table>`;
  const names = listOf(values).map((value) => `<code>${escapeHtml(String(value))}</code>`);
  const choice = names.length === 0 ? "" : `<p>One of ${names.join(", ")}</p>`;
  return `${choice}${note(description)}${rows.length === 0 ? "" : table}`;
}

/** The operation's example as a command. */
function curl({ path, method, operation }: Operation, token: boolean): string {
  const examples = listOf(operation["parameters"])
    .map(objectOf)
    .filter(({ in: place, example }) => place === "query" && example !== undefined)
    .map(({ name, example }) => {
      const value = Array.isArray(example) ? example.join(",") : String(example);
      return `${String(name)}=${encodeURIComponent(value).replaceAll("%2C", ",")}`;
    });
  const query = examples.length === 0 ? "" : `?${examples.join("&")}`;
  const content = objectOf(objectOf(operation["requestBody"])["content"]);
  const { example } = objectOf(content["application/json"]);
  return [
    `curl -s${method === "GET" ? "" : ` -X ${method}`}`,
    ...(token ? [`-H "Authorization: $MOORING_TOKEN"`] : []),
    ...(example === undefined
      ? []
      : [`-H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(example)}'`]),
    `"$MOORING_URL${path}${query}"`,
  ].join(" ");
}

function note(description: unknown): string {
  return description === undefined ? "" : `<p class="note">${text(description)}</p>`;
}

/** Text with `code` marked. */
function text(value: unknown): string {
  const escaped = escapeHtml(value === undefined || value === null ? "" : String(value));
  return escaped.replace(/`([^`]+)`/g, "<code>$1</code>");
}

function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
