import data from './default-template.json' with { type: 'json' };

/** The template that the operator creates if users have not written one: deploy/default-template.yaml. It never changes it afterwards. */
export const DEFAULT_TEMPLATE_YAML = data.config;
