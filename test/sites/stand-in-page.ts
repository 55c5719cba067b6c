/**
 * The site's only page: it logs in, reads a group of settings and sends the whole group back, like
 * the pages of such servers.
 */
export function indexPage(title: string, base: string): string {
  const safe = title.replace(/[<&]/g, (c) => (c === "<" ? "&lt;" : "&amp;"));
  return `<!doctype html><html><head><title>${safe}</title></head><body>
<h1 id="title">${safe}</h1>
<input id="name" value="admin"><input id="password" type="password">
<button id="login">login</button><p id="notice"></p>
<div id="form"></div><button id="save">save</button><button id="logout">logout</button>
<script>
const base = ${JSON.stringify(base)};
let token = "", rows = [];
const el = (id) => document.getElementById(id);
const call = async (method, path, body) => {
  const reply = await fetch(base + path, { method, headers: { authorization: token,
    ...(body === undefined ? {} : { "content-type": "application/json;charset=utf-8" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  return reply.json();
};
const show = (text) => { el("notice").textContent = text; };
const load = async () => {
  const reply = await call("GET", "/api/admin/setting/list?group=1");
  if (reply.code !== 200) return show(reply.code + " " + reply.message);
  rows = reply.data;
  el("form").replaceChildren(...rows.map((row) => {
    const input = document.createElement("textarea");
    input.id = "key-" + row.key; input.value = row.value;
    input.addEventListener("input", () => { row.value = input.value; });
    return input;
  }));
  show("loaded");
};
el("login").onclick = async () => {
  const reply = await call("POST", "/api/auth/login", { username: el("name").value, password: el("password").value });
  if (reply.code !== 200) return show(reply.code + " " + reply.message);
  token = reply.data.token; await load();
};
el("save").onclick = async () => {
  const reply = await call("POST", "/api/admin/setting/save", rows);
  show(reply.code === 200 ? "saved" : reply.code + " " + reply.message);
};
el("logout").onclick = async () => { await call("GET", "/api/auth/logout"); show("left"); };
fetch(base + "/api/public/settings").then((reply) => reply.json()).then(({ data }) => {
  el("title").textContent = data.site_title; document.title = data.site_title;
});
</script></body></html>`;
}
