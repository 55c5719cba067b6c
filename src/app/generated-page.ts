import { hash } from "node:crypto";
import type { FastifyReply } from "fastify";
import { escapeHtml } from "../messages/message.ts";

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

/**
 * A page of the service without scripts.
 *
 * @param body HTML.
 */
export function generatedPage(title: string, body: string, language = "en"): string {
  const head = [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>${escapeHtml(title)}</title>`,
    `<style>${STYLE}</style>`,
  ];
  return `<!doctype html>\n<html lang="${escapeHtml(language)}"><head>${head.join("")}</head><body>${body}</body></html>\n`;
}

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash("sha256", STYLE, "base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Sends a generated page with the policy that allows its style and nothing else. */
export function sendPage(reply: FastifyReply, html: string): FastifyReply {
  return reply
    .headers({
      "cache-control": "no-cache",
      "content-security-policy": POLICY,
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    })
    .type("text/html; charset=utf-8")
    .send(html);
}
