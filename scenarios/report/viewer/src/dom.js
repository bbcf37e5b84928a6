// Elements from data. Strings become text nodes, so nothing a page contains is ever parsed as HTML.

export function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

export function section(title, className, ...children) {
  return element("section", { className: `card ${className}` }, element("h3", {}, title), ...children);
}

export const colour = (variable) => getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
